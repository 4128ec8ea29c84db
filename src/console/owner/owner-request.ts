import type { AccountRequest } from '../../commands/accounts.ts';
import type { Cause } from '../../commands/handler/event-metadata.ts';
import type { Actor } from '../../domain/parse-event.ts';
import type { OwnerVisit } from '../visit.ts';

/** The form in which commands take a visit: the person of its session asks. */

const commandBudgetMs = 5_000;

const actorOf = ({ session }: OwnerVisit): Actor => ({ type: 'owner', id: session.personId });

export const requestOf = (visit: OwnerVisit): AccountRequest & { accountId: string } => ({
  accountId: visit.session.accountId,
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
