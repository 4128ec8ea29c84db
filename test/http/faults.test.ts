import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { booksOfFile } from '../cli/books.ts';
import { call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { unexpectedLines } from '../support/log-lines.ts';
import { startNatsServer, type TestNatsServer } from '../support/nats.ts';
import { openAccount, type OpenedAccount, type ServiceProcess, startProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { creditsOf, metadataPath } from './requests.ts';

/**
 * What the API answers while something behind it is broken or stands still, which would disturb everybody at a shared service.
 * It is the only process here: no worker takes a job or looks anything up.
 */
const books = booksOfFile();
let nats: TestNatsServer;
let api: ServiceProcess;
let account: OpenedAccount;

beforeAll(async () => {
  nats = await startNatsServer();
  api = await startProcess('api', { ...books.environment(), NATS_URL: nats.url });
  account = await openAccount('test', books.environment());
});

afterAll(async () => {
  expect(await api.stop()).toBe(0);
  await nats.remove();
  const expected = ['a request failed inside the service', 'Postgres could not be asked to admit a request'];
  expect(unexpectedLines(api.log(), expected)).toEqual([]);
});

const video = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ';

/** Holds up the read model of credits for as long as the work takes: its rows stay readable, and as they are. */
async function whileCreditsStandStill(work: () => Promise<void>): Promise<void> {
  const client = await books.models.pool.connect();
  await client.query('begin');
  await client.query('lock table credits in share mode');
  try {
    await work();
  } finally {
    await client.query('rollback');
    client.release();
  }
}

describe('500 internal_error', () => {
  it('says nothing of what went wrong; the log does', async () => {
    const { key } = account;
    const { request_token: token } = await queue(api.url, key, { url: video });
    // A row that the projection would never write.
    const spoil = "update jobs set status = 'done' where token = $1";
    await waitFor(async () => (await books.models.pool.query(spoil, [token])).rowCount === 1, {
      what: 'the job in the read model',
    });
    const { status, code, message } = await call(api.url, `/video/status?token=${token}`, { key });
    expect([status, code]).toEqual([500, 'internal_error']);
    expect(message).not.toMatch(/file|token|job/i);
    expect(api.log()).toContain('is done without a file');
  });
});

describe('while Postgres cannot admit anybody', () => {
  it('502 enqueue_failed for a download, else 503 unavailable, with the headers that were last known', async () => {
    const { url } = api;
    const { key } = account;
    const { pool } = books.models;
    const known = await call(url, '/credits', { key });
    await pool.query('alter table api_key_window rename to api_key_window_away');
    try {
      const download = await call(url, '/video/download', { key, body: { url: video } });
      expect([download.status, download.code, download.headers.get('retry-after')]).toEqual([
        ...[502, 'enqueue_failed', '1'],
      ]);
      for (const path of ['/credits', '/video/status?token=x', metadataPath(video)]) {
        const answer = await call(url, path, { key });
        expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
        expect(answer.headers.get('retry-after')).toMatch(/^[12]?\d$/);
        for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-credits-remaining']) {
          expect(answer.headers.get(name)).toBe(known.headers.get(name));
        }
      }
    } finally {
      await pool.query('alter table api_key_window_away rename to api_key_window');
    }
    expect((await call(url, '/credits', { key })).data).toEqual(known.data);
  });
});

describe('while Postgres admits, and does not answer a read', () => {
  it.each([
    ['/video/events', 'jobs', 'ended_position'],
    ['/usage', 'usage_days', 'day'],
    ['/documents', 'invoices', 'revision'],
  ])('503 unavailable for GET %s, whose place in the hour is given back', async (path, table, column) => {
    const { url } = api;
    const { key } = account;
    const before = await call(url, '/credits', { key });
    const left = Number(before.headers.get('x-ratelimit-remaining'));
    const rename = (from: string, to: string) =>
      books.models.pool.query(`alter table ${table} rename column ${from} to ${to}`);
    await rename(column, 'away');
    try {
      const answer = await call(url, path, { key });
      expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
      expect(answer.headers.get('retry-after')).toMatch(/^[12]?\d$/);
      expect(answer.headers.get('x-ratelimit-remaining')).toBe(String(left));
    } finally {
      await rename('away', column);
    }
    expect((await call(url, path, { key })).status).toBe(200);
  });
});

describe('X-Credits-Remaining of a lookup that comes to nothing', () => {
  it.each([
    ['402 metadata_quota_exceeded', '0'],
    ['502 metadata_unavailable', '50'],
  ])('%s is what the log says, while the read model is behind', async (outcome, included) => {
    const { url } = api;
    const { accountId, key } = await openAccount('test', books.environment());
    await books.cli('accounts', 'terms', accountId, '--downloads', '7', '--metadata', included);
    const { downloads } = await creditsOf(url, key);
    await whileCreditsStandStill(async () => {
      await queue(url, key, { url: video });
      const { status, code, headers } = await call(url, metadataPath(video), { key });
      expect(`${String(status)} ${String(code)}`).toBe(outcome);
      expect(headers.get('x-credits-remaining')).toBe(String(downloads.remaining - 1));
    });
  });
});
