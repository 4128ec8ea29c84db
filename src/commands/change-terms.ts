import { type TermsRefusal, termsRefusals, type UsageCommand } from '../domain/decide-usage.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import type { Cause } from './handler/event-metadata.ts';
import type { UsageAnswer } from './usage/decide-batch.ts';
import type { WriterRegistry } from './usage/writer-registry.ts';

/** Changes the terms of an account. The change counts from its append on, for the next decision of every process. */
export type TermsChange = Exclude<UsageCommand, { kind: 'queue_download' | 'debit_metadata' }>;

/** Only requests with an idempotency key are answered `found_earlier`. */
export type TermsAnswer = Exclude<UsageAnswer<TermsRefusal>, { outcome: 'found_earlier' }>;

export async function changeTerms(
  writers: WriterRegistry,
  request: { accountId: string; change: TermsChange; snapshot: UsageSnapshot; cause: Cause; timeoutMs: number },
): Promise<TermsAnswer> {
  const { accountId, change, snapshot, cause, timeoutMs } = request;
  const deadlineMs = performance.now() + timeoutMs;
  const answer = await writers.ask(accountId, { command: change, snapshot, cause, deadlineMs });
  if (!isTermsAnswer(answer)) throw new Error(`a change of terms was answered as a request is: ${answer.outcome}`);
  return answer;
}

const isTermsAnswer = (answer: UsageAnswer): answer is TermsAnswer =>
  answer.outcome === 'refused'
    ? (termsRefusals as readonly string[]).includes(answer.refusal)
    : answer.outcome !== 'found_earlier';
