import type { AccountRequest } from '../commands/accounts.ts';
import type { OwnerVisit } from './visit.ts';

const commandBudgetMs = 5_000;

/** Who asks for a command, and how long it may take. */
export const requestOf = ({ session, request }: OwnerVisit): AccountRequest => ({
  correlationId: request.id,
  actor: { type: 'owner', id: session.personId },
  timeoutMs: commandBudgetMs,
});
