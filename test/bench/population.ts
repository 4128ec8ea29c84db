import { createWriteStream } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pMap from 'p-map';
import type { Pool } from 'pg';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { createLocalFileStore } from '../../src/adapters/files/local-file-store.ts';
import { type NewApiKey, newApiKey } from '../../src/commands/ids/api-key.ts';
import { RequestTokens } from '../../src/commands/ids/request-token.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { waitFor } from '../support/wait-for.ts';

export interface BenchAccount {
  id: string;
  keys: NewApiKey[];
  /** Downloads of its own that are in the read model: one that waits, and one whose file is there. */
  queuedToken: string;
  doneToken: string;
}

/** Requests per key. */
export const hourlyLimit = 120;
const terms = {
  downloads_limit: 1_000_000,
  metadata_limit: 1_000_000,
  hourly_limit: hourlyLimit,
  warning_percents: [80, 100],
};

/**
 * Opens accounts as the service would have, event by event, but many at a time.
 *
 * @param counts waiting: whether the download of each that waits is in the log too
 */
export async function openAccounts(
  store: EventStore,
  counts: { accounts: number; keys: number; waiting?: boolean },
  tokens: RequestTokens,
): Promise<BenchAccount[]> {
  const opened: BenchAccount[] = [];
  const openOne = async () => {
    const now = new Date().toISOString();
    const account = new GeneratedAccount(now, now);
    const keys = Array.from({ length: counts.keys }, () => newApiKey(randomBits));
    const [queuedToken, doneToken] = [tokens.issue(), tokens.issue()];
    await appendAll(store, [
      ...account.open(terms),
      ...keys.map(({ keyHash }) => account.issueKey(keyHash).append),
      ...(counts.waiting ? [account.queue(1, () => queuedToken)] : []),
    ]);
    opened.push({ id: account.accountId, keys, queuedToken, doneToken });
  };
  // A connection that has never appended must not begin with many appends at a time.
  await openOne();
  await pMap(Array.from({ length: counts.accounts - 1 }), openOne, { concurrency: 64 });
  return opened;
}

/**
 * Puts jobs into the read model alone, as many for each account: what a poll costs does not depend on how a row came there.
 * Through COPY, and without indexes meanwhile, so that ten million take minutes.
 *
 * @param jobs at least two per account: the ones that it asks for
 */
export async function copyJobs(
  pool: Pool,
  {
    accounts,
    jobs,
    tokens,
    directory,
  }: { accounts: readonly BenchAccount[]; jobs: number; tokens: RequestTokens; directory: string },
): Promise<void> {
  const file = join(directory, 'jobs.copy');
  await pipeline(Readable.from(jobLines(accounts, jobs, tokens)), createWriteStream(file));
  // Postgres itself reads the file, perhaps as another user.
  await chmod(directory, 0o777);
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    "select indexname as name, indexdef as definition from pg_indexes where tablename = 'jobs' and indexname <> 'jobs_pkey'",
  );
  await pool.query('alter table jobs drop constraint jobs_pkey');
  for (const { name } of indexes) await pool.query(`drop index ${name}`);
  await pool.query(`copy jobs (${copied.join()}) from '${file}'`);
  await pool.query('alter table jobs add primary key (token)');
  for (const { definition } of indexes) await pool.query(definition);
  await rm(file);
  await pool.query('vacuum analyze jobs');
}

const copied = [
  ...['token', 'account_id', 'usage_stream', 'usage_revision', 'platform', 'video_id', 'url', 'format', 'quality'],
  ...['overage', 'revision', 'attempts', 'queued_at', 'waiting_since', 'status', 'started_at'],
  ...['finished_at', 'file_claim_revision', 'file_name', 'file_mime', 'file_size_bytes', 'file_expired_at'],
];
const linesPerChunk = 1_000;

/** The accounts take turns. Of each the first job waits, the file of the second is there, and those of all others have expired. */
function* jobLines(accounts: readonly BenchAccount[], jobs: number, tokens: RequestTokens): Generator<string> {
  const now = new Date().toISOString();
  const film = ['youtube', 'aqz-KE-bpKQ', 'https://www.youtube.com/watch?v=aqz-KE-bpKQ', 'video', '720'];
  const waits = ['queued', ...Array.from({ length: 7 }, () => nothing)];
  const isDone = ['done', now, now, 0, 'sample.mp4', 'video/mp4', 5];
  let lines = '';
  for (let job = 0; job < jobs; job += 1) {
    const round = Math.floor(job / accounts.length);
    const account = accounts[job % accounts.length];
    if (!account) return;
    const { id, queuedToken, doneToken } = account;
    const token = [queuedToken, doneToken][round] ?? tokens.issue();
    const end = round === 0 ? waits : [...isDone, round === 1 ? nothing : now];
    lines += `${[token, id, `usage-${id}-20260101`, round, ...film, 'f', 2, 1, now, now, ...end].join('\t')}\n`;
    if (job % linesPerChunk !== linesPerChunk - 1 && job !== jobs - 1) continue;
    yield lines;
    lines = '';
  }
}

/** Null, as COPY writes it. */
const nothing = '\\N';

/** A small file for each finished download, so that its link is given. */
export async function putFiles(directory: string, secret: string, accounts: readonly BenchAccount[]): Promise<void> {
  const { id, linkKey: key } = deriveKeys(secret);
  const files = createLocalFileStore({
    directory: join(directory, 'files'),
    downloadBaseUrl: () => '',
    signingKeys: { current: { id, key }, others: [] },
    nonce: newUuid,
  });
  for (const { doneToken: token } of accounts) {
    const path = join(directory, 'incoming');
    await writeFile(path, 'bytes');
    await files.put({ token, claimRevision: 0, name: 'sample.mp4' }, path, 'video/mp4');
  }
}

export function createTokens(secret: string): RequestTokens {
  return new RequestTokens(deriveKeys(secret).tokenKey, [], randomBits);
}

/** So that each round begins alike: half an hour ago, every key was used so often. */
export async function resetWindows(pool: Pool, used = 60): Promise<void> {
  await pool.query(
    // In the order in which admission locks them: its last batches may be under way.
    `with locked as materialized (select hash from api_key_window order by hash for update)
     update api_key_window w set base = clock_timestamp() - interval '30 minutes',
       admitted_ms = array(select generate_series(0, $1::int - 1))
     from locked where w.hash = locked.hash`,
    [used],
  );
  await pool.query('vacuum analyze api_key_window, credits, jobs');
}

export async function countKnownKeys(pool: Pool): Promise<number> {
  return (await pool.query('select from api_key_window')).rowCount ?? 0;
}

export async function waitUntilKeysAreKnown(pool: Pool, keys: number): Promise<void> {
  const areKnown = async () => (await countKnownKeys(pool)) === keys;
  await waitFor(areKnown, { what: 'all keys to be known', timeoutMs: 600_000, pollMs: 100 });
}
