import type { AccountRequest } from '../commands/accounts.ts';
import type { Cause } from '../commands/event-metadata.ts';
import type { Actor } from '../domain/parse-event.ts';
import { badInput } from './visit.ts';
import type { OwnerVisit } from './visit.ts';

/** The form in which commands take a visit: the person of its session asks. */

const commandBudgetMs = 5_000;

const actorOf = ({ session }: OwnerVisit): Actor => ({ type: 'owner', id: session.personId });

/** The key of the form that was sent; undefined from a program that sends none. @throws {Refusal} if it is none of ours */
export function formKeyOf({ form }: OwnerVisit): string | undefined {
  const key = form.get('form_key') ?? undefined;
  if (key !== undefined && !/^[0-9a-f-]{36}$/.test(key)) throw badInput('The form is not one of this page. Reload it.');
  return key;
}

export const requestOf = (visit: OwnerVisit): AccountRequest => ({
  correlationId: visit.request.id,
  actor: actorOf(visit),
  timeoutMs: commandBudgetMs,
});

export const causeOf = (visit: OwnerVisit, commandId: string): Cause => ({
  commandId,
  correlationId: visit.request.id,
  causationId: commandId,
  actor: actorOf(visit),
});
