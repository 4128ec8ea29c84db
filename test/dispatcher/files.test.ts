import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { notesFolder } from '../../src/adapters/files/file-key.ts';
import { startExpiringFiles } from '../../src/dispatcher/expire-files.ts';
import { startRemovingFiles } from '../../src/dispatcher/remove-files.ts';
import { jobStream } from '../../src/domain/download-job-events.ts';
import type { FileKey } from '../../src/ports/files.ts';
import type { JobMessage } from '../../src/ports/job-queue.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { type ServedStore, serveLocalStore, signingKey } from '../adapters/files/local-file-store.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { claimOne, completeOne, dispatchingUnderTest, queueOne, rowOf, stepOne } from './dispatching.ts';

const parts = dispatchingUnderTest();

const finishedAt = '2026-11-14T13:00:00.000Z';
const retentionSeconds = 86_400;
const atItsTime = '2026-11-15T13:00:00.000Z';
const afterTheLastLink = '2026-11-15T14:10:00.000Z';

/** Expires whatever is due, as two dispatchers at once would; both stop with the test. */
function expireAt(now: string): void {
  const { store, models } = parts;
  for (let dispatcher = 0; dispatcher < 2; dispatcher += 1) {
    const expiring = startExpiringFiles({
      store,
      pool: models.pool,
      newUuid,
      logger: silent,
      retentionSeconds,
      everyMs: 20,
      now: () => now,
    });
    onTestFinished(() => expiring.stop());
  }
}

async function finishOne({ store: files }: ServedStore): Promise<{ message: JobMessage; key: FileKey }> {
  const message = await queueOne(parts);
  const claim = await claimOne(parts, message, { workerId: newId('wrk'), now: finishedAt });
  const key = { token: message.token, claimRevision: claim.revision, name: 'media.mp4' };
  await files.put(key, aFilm(), 'video/mp4');
  await completeOne(parts, message, { claim, now: finishedAt });
  await rowOf(parts, message, ({ status }) => status === 'done');
  return { message, key };
}

function aFilm(): string {
  const path = join(temporaryDirectory(), 'media.mp4');
  writeFileSync(path, 'a film');
  return path;
}

/** Every attempt puts its file and is lost before it can say so. */
async function failOne({ store: files }: ServedStore): Promise<JobMessage> {
  const message = await queueOne(parts);
  for (const minute of [10, 11, 12]) {
    const now = `2026-11-14T13:${String(minute)}:00.000Z`;
    const claim = await claimOne(parts, message, { workerId: newId('wrk'), now });
    await files.put({ token: message.token, claimRevision: claim.revision, name: 'media.mp4' }, aFilm(), 'video/mp4');
    await stepOne(parts, { kind: 'expire_lease', token: message.token, claim }, now);
  }
  await rowOf(parts, message, ({ status }) => status === 'failed');
  return message;
}

/** Looks over and over at what may go. @returns what was told of it, which grows */
function removeAt({ store: files }: ServedStore, now: string) {
  const told: [string, { files: number; bytes: number }][] = [];
  let rounds = 0;
  const listed = async function* () {
    yield* files.tokens();
    rounds += 1;
  };
  const removing = startRemovingFiles({
    files: { tokens: listed, purge: (token) => files.purge(token) },
    observer: { filesRemoved: (of, removed) => void told.push([of, removed]) },
    pool: parts.models.pool,
    now: () => now,
    logger: silent,
    retentionSeconds,
    everyMs: 20,
  });
  onTestFinished(() => removing.stop());
  return { told, wholeRound: () => waitFor(() => rounds >= 2, { what: 'two looks at all files' }) };
}

const expiriesOf = async ({ token }: JobMessage) =>
  (await parts.store.read(jobStream(token), 0)).filter(({ type }) => type === 'FileExpired');

describe('a finished file', () => {
  it('expires when its time is over, once, and the job stays done as it was', async () => {
    const { message } = await finishOne(serveLocalStore({ current: signingKey('k'), others: [] }));
    const before = await rowOf(parts, message, () => true);
    expireAt('2026-11-15T12:59:59.999Z');
    const { message: older } = await finishOne(serveLocalStore({ current: signingKey('k'), others: [] }));
    expect(await expiriesOf(message)).toEqual([]);
    expireAt(atItsTime);
    const row = await rowOf(parts, message, (now) => now.file_expired_at !== null);
    await rowOf(parts, older, (now) => now.file_expired_at !== null);
    expect(row).toEqual({ ...before, ...changedBy(row), file_expired_at: atItsTime });
    const [expiry, ...more] = await expiriesOf(message);
    expect(more).toEqual([]);
    expect(expiry).toMatchObject({ data: { token: message.token, claim_revision: 0 } });
    expect(expiry?.metadata).toMatchObject({ actor: { type: 'system', id: 'file-expiry' } });
  });

  it('keeps its bytes until the links are over, and then loses them', async () => {
    const served = serveLocalStore({ current: signingKey('k'), others: [] });
    const { message, key } = await finishOne(served);
    await served.store.keepNote('newest-head', 'a note');
    const early = removeAt(served, afterTheLastLink);
    await early.wholeRound();
    // However old it is: without the event nobody may take it away.
    expect(await served.store.sizeBytes(key)).toBe(6);
    expireAt(atItsTime);
    await rowOf(parts, message, (row) => row.file_expired_at !== null);
    await waitFor(() => early.told.length > 0, { what: 'the file to be removed' });
    expect(early.told).toEqual([['expired', { files: 1, bytes: 6 }]]);
    expect(await served.store.readNote('newest-head')).toBe('a note');
    expect(readdirSync(served.directory)).toEqual([notesFolder]);
  });

  it('that has just expired is still there for whoever has a link', async () => {
    const served = serveLocalStore({ current: signingKey('k'), others: [] });
    const { message, key } = await finishOne(served);
    expireAt(atItsTime);
    await rowOf(parts, message, (row) => row.file_expired_at !== null);
    await removeAt(served, '2026-11-15T14:09:59.999Z').wholeRound();
    expect(await served.store.sizeBytes(key)).toBe(6);
  });
});

const changedBy = ({ revision, last_hash }: { revision: number; last_hash: string | null }) => ({
  revision,
  last_hash,
});

describe('what is left in the file store', () => {
  it('goes, where every attempt was killed between its file and its event and the job has failed', async () => {
    const served = serveLocalStore({ current: signingKey('k'), others: [] });
    const { token } = await failOne(served);
    expect(readdirSync(join(served.directory, token))).toHaveLength(3);
    const { told, wholeRound } = removeAt(served, '2026-11-14T13:13:00.000Z');
    await wholeRound();
    expect(readdirSync(served.directory)).toEqual([]);
    expect(told).toEqual([['failed', { files: 3, bytes: 18 }]]);
  });

  it('stays, where the job has not ended, or is none that is known here', async () => {
    const served = serveLocalStore({ current: signingKey('k'), others: [] });
    const message = await queueOne(parts);
    const claim = await claimOne(parts, message, { workerId: newId('wrk'), now: finishedAt });
    const running = { token: message.token, claimRevision: claim.revision, name: 'media.mp4' };
    const unknown = { token: 'of-another-installation', claimRevision: 0, name: 'media.mp4' };
    for (const key of [running, unknown]) await served.store.put(key, aFilm(), 'video/mp4');
    await rowOf(parts, message, ({ status }) => status === 'claimed');
    const { told, wholeRound } = removeAt(served, '2030-01-01T00:00:00.000Z');
    await wholeRound();
    expect(told).toEqual([]);
    for (const { token } of [running, unknown]) expect(existsSync(join(served.directory, token))).toBe(true);
  });
});
