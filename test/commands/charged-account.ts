import { randomUUID } from 'node:crypto';
import type { Cause } from '../../src/commands/handler/event-metadata.ts';
import type { JobDependencies } from '../../src/commands/record-job-progress.ts';
import type { JobCommand } from '../../src/domain/download-job.ts';
import type { Fault } from '../../src/domain/download-job-events.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import { newId } from '../../src/system/clock-and-chance.ts';
import { recordStep } from './record-step.ts';
import { ask, downloadOf, freshCause, type UsageAccount, type writersOf } from './usage-account.ts';

export interface ChargedAccount extends UsageAccount {
  /** The first download is charged at revision 1 of the usage stream and queued at 2, the next at 3 and 4. */
  tokens: string[];
}

/** In the form by which streams of jobs are known. */
const newToken = () => `A${randomUUID().replaceAll('-', '').slice(1)}`;

/** Queues the first downloads of an account, one after the other. */
export async function chargeDownloads(
  writers: ReturnType<typeof writersOf>,
  account: UsageAccount,
  { downloads, actor = freshCause().actor }: { downloads: number; actor?: Cause['actor'] | undefined },
): Promise<ChargedAccount> {
  const tokens = Array.from({ length: downloads }, newToken);
  for (const token of tokens) await ask(writers, account, downloadOf(token), { cause: { ...freshCause(), actor } });
  return { ...account, tokens };
}

/** A worker takes a download of the account and gives it up, for a reason that is not tried again. */
export async function failDownload(
  dependencies: Pick<JobDependencies, 'store' | 'now'>,
  { accountId, stream, tokens }: ChargedAccount,
  { token, reason, fault }: { token: string; reason: FailureReason; fault: Fault },
): Promise<void> {
  const queued = { accountId, usageStream: stream, usageRevision: 2 + 2 * tokens.indexOf(token), token };
  await failQueued(dependencies, queued, { reason, fault });
}

/** The same by the place of its DownloadQueued. */
export async function failQueued(
  dependencies: Pick<JobDependencies, 'store' | 'now'>,
  queued: { accountId: string; usageStream: string; usageRevision: number; token: string },
  ending: { reason: FailureReason; fault: Fault },
): Promise<void> {
  const { token } = queued;
  const workerId = newId('wrk');
  const step = (command: JobCommand) => recordStep(dependencies, command, { type: 'system', id: workerId });
  const revision = await step({ kind: 'claim', workerId, ...queued });
  const claim = { workerId, revision };
  await step({ kind: 'start', token, claim });
  await step({ kind: 'give_up', token, claim, ...ending });
}
