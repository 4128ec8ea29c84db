import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pMap from 'p-map';
import type { Pool } from 'pg';
import { createLocalFileStore } from '../../src/adapters/files/local-file-store.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { newApiKey } from '../../src/commands/api-key.ts';
import type { NewApiKey } from '../../src/commands/api-key.ts';
import { RequestTokens } from '../../src/commands/request-token.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { GeneratedAccount, appendAll } from '../projections/generated-account.ts';
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

/** Opens accounts as the service would have, event by event, but many at a time. */
export async function openAccounts(
  store: EventStore,
  counts: { accounts: number; keys: number },
  tokens: RequestTokens,
): Promise<BenchAccount[]> {
  const opened: BenchAccount[] = [];
  const openOne = async () => {
    const now = new Date().toISOString();
    const account = new GeneratedAccount(now, now);
    const keys = Array.from({ length: counts.keys }, () => newApiKey(randomBits));
    await appendAll(store, [...account.open(terms), ...keys.map(({ keyHash }) => account.issueKey(keyHash).append)]);
    opened.push({ id: account.accountId, keys, queuedToken: tokens.issue(), doneToken: tokens.issue() });
  };
  // A connection that has never appended must not begin with many appends at a time.
  await openOne();
  await pMap(Array.from({ length: counts.accounts - 1 }), openOne, { concurrency: 64 });
  return opened;
}

/** Puts jobs into the read model alone: what a poll costs does not depend on how a row came there. */
export async function insertJobs(pool: Pool, accounts: readonly BenchAccount[]): Promise<void> {
  const own = accounts.flatMap(({ id, queuedToken, doneToken }) => [
    { account_id: id, token: queuedToken, status: 'queued', file: null },
    { account_id: id, token: doneToken, status: 'done', file: 'sample.mp4' },
  ]);
  await pool.query(
    `${insertSql} from jsonb_to_recordset($1) as o(account_id text, token text, status text, file text)`,
    [JSON.stringify(own)],
  );
  await pool.query('vacuum analyze jobs');
}

/** Jobs of nobody who asks, for the size of the table. */
export async function insertOthers(pool: Pool, jobs: number): Promise<void> {
  const { rows } = await pool.query<{ first: number }>(`select count(*)::int as first from jobs`);
  const first = rows[0]?.first ?? 0;
  await pool.query(
    `${insertSql} from (select 'acc_' || i % 10000 as account_id, 'A' || md5(i::text) as token, 'done' as status,
       'sample.mp4' as file from generate_series($1::int, $2::int) i) o`,
    [first, first + jobs - 1],
  );
  await pool.query('vacuum analyze jobs');
}

const insertSql = `
  insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage, status,
    revision, attempts, queued_at, waiting_since, finished_at, file_claim_revision, file_name, file_mime, file_size_bytes)
  select o.token, o.account_id, 'usage-' || o.account_id || '-20260101', 2, 'youtube', 'aqz-KE-bpKQ',
    'https://www.youtube.com/watch?v=aqz-KE-bpKQ', 'video', '720', false, o.status, 2, 1, now(), now(),
    case when o.status = 'done' then now() end, case when o.file is not null then 0 end, o.file,
    case when o.file is not null then 'video/mp4' end, case when o.file is not null then 5 end`;

/** A small file for each finished download, so that its link is given. */
export async function putFiles(directory: string, secret: string, accounts: readonly BenchAccount[]): Promise<void> {
  const { id, linkKey: key } = deriveKeys(secret);
  const files = createLocalFileStore({
    directory: join(directory, 'files'),
    downloadBaseUrl: '',
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

export async function waitUntilKeysAreKnown(pool: Pool, keys: number): Promise<void> {
  const areKnown = async () => (await pool.query('select from api_key_window')).rowCount === keys;
  await waitFor(areKnown, { what: 'all keys to be known', timeoutMs: 600_000, pollMs: 100 });
}
