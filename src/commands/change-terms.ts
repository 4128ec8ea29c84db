import type { UsageCommand } from '../domain/decide-usage.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { Cause } from './handler/event-metadata.ts';
import type { UsageAnswer } from './usage/decide-batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

/** Changes the terms of an account. The change counts from its append on, for the next decision of every process. */
export type TermsChange = Exclude<UsageCommand, { kind: 'queue_download' | 'debit_metadata' }>;

export function changeTerms(
  writers: WriterRegistry,
  request: { accountId: string; change: TermsChange; snapshot: UsageSnapshot; cause: Cause; timeoutMs: number },
): Promise<UsageAnswer> {
  const { accountId, change, snapshot, cause, timeoutMs } = request;
  return writers.ask(accountId, { command: change, snapshot, cause, deadlineMs: performance.now() + timeoutMs });
}
