import type { Actor } from '../domain/parse-event.ts';
import { isRefused, type Refused } from '../domain/refusals.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import { type AccountRequest, recordClosing } from './accounts.ts';
import { changeTerms, type TermsAnswer } from './change-terms.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

export interface CloseAccountDependencies extends CommandDependencies {
  writers: WriterRegistry;
}

interface Closing extends AccountRequest {
  accountId: string;
  /** By staff, with a reason. */
  actor: Extract<Actor, { type: 'staff' }>;
  snapshot: UsageSnapshot;
}

/**
 * Closes an account in two steps. Its last period ends in its usage stream, after which nothing is charged; then its keys are
 * revoked in its own stream. A crash between the two leaves the second step to the dispatcher (`close-periods.ts`), which also
 * closes the period's books once the grace is over, and invoices them. Repeated, it completes what is missing.
 *
 * @returns the answer of the usage stream; a refusal for an account that was never opened
 * @throws {NotStored} {OutcomeUnknown} when the second step is open
 */
export async function closeAccount(
  dependencies: CloseAccountDependencies,
  { accountId, actor, snapshot, correlationId, timeoutMs }: Closing,
): Promise<TermsAnswer | Refused> {
  const { writers, newUuid } = dependencies;
  const cause = ownCause(newUuid(), actor, correlationId);
  const answer = await changeTerms(writers, {
    accountId,
    change: { kind: 'close_account' },
    snapshot,
    cause,
    timeoutMs,
  });
  if (answer.outcome !== 'accepted') return answer;
  const closed = await recordClosing(dependencies, { accountId, actor, correlationId, timeoutMs });
  return isRefused(closed) ? closed : answer;
}
