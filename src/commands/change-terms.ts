import type { UsageCommand } from '../domain/decide-usage.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { Cause } from './event-metadata.ts';
import type { UsageAnswer } from './usage/batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

/** A change of what an account pays for, in force from the append on: every process's next decision meets it. */
export type TermsChange = Extract<
  UsageCommand,
  { kind: 'change_plan' | 'change_terms' | 'set_overage_cap' | 'remove_overage_cap' }
>;

export function changeTerms(
  writers: WriterRegistry,
  request: { accountId: string; change: TermsChange; snapshot: UsageSnapshot; cause: Cause; timeoutMs: number },
): Promise<UsageAnswer> {
  const { accountId, change, snapshot, cause, timeoutMs } = request;
  return writers.ask(accountId, { command: change, snapshot, cause, deadlineMs: performance.now() + timeoutMs });
}
