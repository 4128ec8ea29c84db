import { LRUCache } from 'lru-cache';
import { withDeadline } from '../../async/deadline.ts';
import { jobStream } from '../../domain/download-job-events.ts';
import { parseJobEvent } from '../../domain/parse-event.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { FileKey } from '../../ports/files.ts';

const maxKept = 10_000;
/** After this, a file is served without its digest. */
const limitMs = 1_000;

/**
 * Looks up the SHA-256 of a finished file in the JobCompleted of the claim that made the file.
 *
 * @returns hexadecimal; undefined where the log does not say so in time
 */
export function createFileDigests(
  store: Pick<EventStore, 'read'>,
): (file: Pick<FileKey, 'token' | 'claimRevision'>) => Promise<string | undefined> {
  const kept = new LRUCache<string, string>({ max: maxKept });

  async function read({ token, claimRevision }: Pick<FileKey, 'token' | 'claimRevision'>): Promise<string | undefined> {
    const events = (await store.read(jobStream(token), claimRevision)).map((recorded) => parseJobEvent(recorded).event);
    const completed = events.find(
      (event) => event.type === 'JobCompleted' && event.data.claim_revision === claimRevision,
    );
    return completed?.type === 'JobCompleted' ? completed.data.file_sha256 : undefined;
  }

  return async (file) => {
    const name = `${file.token} ${String(file.claimRevision)}`;
    const known = kept.get(name);
    if (known !== undefined) return known;
    const reading = read(file).catch(() => undefined);
    const found = await withDeadline(reading, limitMs, () => undefined);
    if (found !== undefined) kept.set(name, found);
    return found;
  };
}
