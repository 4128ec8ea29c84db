import { changeCharge } from '../../src/commands/change-charge.ts';
import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import {
  queueDownload,
  type QueueDownloadAnswer,
  type QueueDownloadRequest,
} from '../../src/commands/queue-download.ts';
import type { WriterRegistry } from '../../src/commands/usage/writer-registry.ts';
import type { ChargeCommand } from '../../src/domain/change-charge.ts';
import { defaultOptions, type Quality } from '../../src/domain/download-options.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { token, video } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { freshCause, midNovember, type UsageAccount } from './usage-account.ts';

export interface Process {
  store: EventStore;
  writers: WriterRegistry;
  now?: () => string;
}

/** Asks for a download with an idempotency key, under a token of its own. */
export function queueKeyed(
  { store, writers, now = () => midNovember }: Process,
  { accountId, origin }: UsageAccount,
  key: string,
  { number = 1, timeoutMs = patienceMs, quality = 'best', ...request }: KeyedRequest = {},
): Promise<QueueDownloadAnswer> {
  return queueDownload(
    { writers, store, now, newUuid },
    {
      accountId,
      token: token(number),
      video,
      options: { ...defaultOptions, quality },
      snapshot: origin,
      keyHash: hashIdempotencyKey(key),
      cause: freshCause(),
      deadlineMs: performance.now() + timeoutMs,
      ...request,
    },
  );
}

type KeyedRequest = Partial<QueueDownloadRequest> & { number?: number; timeoutMs?: number; quality?: Quality };

/** One step in the stream of a charge's own period. */
export function correct(
  store: EventStore,
  stream: string,
  command: ChargeCommand,
  { now = midNovember, ...by }: { now?: string; actor?: Actor } = {},
): ReturnType<typeof changeCharge> {
  const cause = { ...freshCause(), ...by };
  return changeCharge({ store, now: () => now }, { stream, command, cause, timeoutMs: patienceMs });
}
