import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { unexpectedLines } from '../support/log-lines.ts';
import { withClient } from '../support/postgres.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import type { OpenedAccount, ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const installation = installationOfFile();

beforeAll(async () => {
  await installation.startRole('projector');
});

interface Row {
  account_id: string;
  key_id: string;
  answered: number;
  limited: number;
}

const readRows = (keyIds: readonly string[]): Promise<Row[]> =>
  withClient(installation.environment.DATABASE_URL, async (client) => {
    const { rows } = await client.query<Row>(
      `select account_id, key_id, sum(answered)::int as answered, sum(limited)::int as limited
       from key_requests where key_id = any($1) group by 1, 2`,
      [keyIds],
    );
    return rows;
  });

const startApi = (environment = {}): Promise<ServiceProcess> => installation.startRole('api', environment);

async function send({ url }: ServiceProcess, { key }: Pick<OpenedAccount, 'key'>, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let sent = 0; sent < count; sent += 1) statuses.push((await call(url, '/credits', { key })).status);
  return statuses;
}

describe('the requests of a key', () => {
  it('are counted as let in or refused by its hourly limit, and nothing else is', async () => {
    const api = await startApi();
    const account = await installation.openAccount('dev_100');
    await installation.cli(['accounts', 'terms', account.accountId, '--hourly', '3']);
    const other = await installation.cli<{ key: string; key_id: string }>(['keys', 'issue', account.accountId]);
    const limited = async () =>
      (await call(api.url, '/credits', { key: account.key })).headers.get('x-ratelimit-limit') === '3';
    await waitFor(limited, { what: 'the limit of 3' });
    await send(api, account, 20);
    expect(await send(api, other, 1)).toEqual([200]);
    expect((await call(api.url, '/video/status?token=unknown', { key: other.key })).status).toBe(404);
    expect((await call(api.url, '/credits')).status).toBe(401);
    expect((await call(api.url, '/credits', { key: `${other.key.slice(0, -1)}x` })).status).toBe(401);
    expect((await call(api.url, '/nothing', { key: other.key })).status).toBe(404);
    const isThere = async () => (await readRows([account.keyId, other.key_id])).length === 2;
    await waitFor(isThere, { what: 'the counts of both keys' });
    await api.stop();
    const [first, second] = (await readRows([account.keyId, other.key_id])).sort(
      (one, next) => next.limited - one.limited,
    );
    expect(second).toEqual({ account_id: account.accountId, key_id: other.key_id, answered: 2, limited: 0 });
    expect(first).toMatchObject({ account_id: account.accountId, key_id: account.keyId });
    expect(first?.limited).toBeGreaterThanOrEqual(17);
  });

  it('are written by a process that is told to stop', async () => {
    const api = await startApi();
    const account = await installation.openAccount('dev_100');
    expect(await send(api, account, 4)).toEqual([200, 200, 200, 200]);
    await api.stop();
    expect(await readRows([account.keyId])).toMatchObject([{ answered: 4, limited: 0 }]);
  });

  it('are answered while the counts cannot be written, and counted later', async () => {
    const api = await startApi();
    const account = await installation.openAccount('dev_100');
    await withClient(installation.environment.DATABASE_URL, async (client) => {
      await client.query('begin; lock table key_requests in access exclusive mode');
      expect(await send(api, account, 3)).toEqual([200, 200, 200]);
      const waits = async () =>
        (await client.query("select from pg_locks where relation = 'key_requests'::regclass and not granted")).rows
          .length > 0;
      await waitFor(waits, { what: 'a statement that waits for the lock' });
      expect(await send(api, account, 2)).toEqual([200, 200]);
      await client.query('rollback');
    });
    await api.stop();
    expect(await readRows([account.keyId])).toMatchObject([{ answered: 5, limited: 0 }]);
  });

  it('are counted before and after Postgres was away', async () => {
    await using proxy = await startPostgresProxy(installation.environment.DATABASE_URL);
    const api = await startApi({ DATABASE_URL: proxy.url });
    const account = await installation.openAccount('dev_100');
    expect(await send(api, account, 5)).toEqual([200, 200, 200, 200, 200]);
    proxy.setAway(true);
    expect(await send(api, account, 1)).toEqual([503]);
    proxy.setAway(false);
    await waitFor(async () => (await send(api, account, 1))[0] === 200, { what: 'an answer' });
    expect(unexpectedLines(api.log())).toEqual([]);
    await api.stop();
    expect(await readRows([account.keyId])).toMatchObject([{ answered: 6, limited: 0 }]);
  });
});
