import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/http/endpoints.ts';
import { type Answer, call } from '../support/client.ts';
import { ended, queue as queueDownload } from '../support/downloads.ts';
import { waitFor } from '../support/wait-for.ts';
import { readEvents, withPostgres } from './engines-behind.ts';
import { demoOf, shareService } from './shared-service.ts';

const service = shareService();
const because = ['--reason', 'the card was stolen', '--by', 'maria'];
const video = { url: 'https://www.youtube.com/watch?v=jNQXAC9IVRw' };

const queue = (key: string) => call(service.url, '/video/download', { key, body: video });
const credits = (key: string) => call(service.url, '/credits', { key });
const errorOf = ({ status, code, message }: Answer) => ({ status, error: { code, message } });

/** Meanwhile the projector waits for the account's row of credits, which admission reads as it was. */
const whileRowIsHeld = <Result>(accountId: string, work: () => Promise<Result>): Promise<Result> =>
  withPostgres(service, async (client) => {
    await client.query('begin');
    await client.query('select from credits where account_id = $1 for update', [accountId]);
    const result = await work();
    await client.query('commit');
    return result;
  });

const untilLogged = async (stream: string, wanted: string): Promise<void> => {
  const isThere = async () => (await readEvents(service, stream)).some(({ type }) => type === wanted);
  await waitFor(isThere, { what: wanted });
};

describe('a suspended account', () => {
  it('has its keys refused with a text that says so, is charged nothing, and goes on once that is lifted', async () => {
    const { accountId, key } = await service.openAccount('enterprise');
    expect((await queue(key)).status).toBe(202);
    await service.cli('accounts', 'suspend', accountId, ...because);
    const refused = {
      status: 401,
      error: { code: 'unauthorized', message: expect.stringContaining('suspended') as string },
    };
    expect(errorOf(await queue(key))).toEqual(refused);
    for (const path of ['/credits', '/video/status?token=x', `/video/metadata?url=${video.url}`])
      expect(errorOf(await call(service.url, path, { key })), path).toEqual(refused);
    expect(await service.cli('accounts', 'show', accountId)).toMatchObject({ suspended: true, downloads: { used: 1 } });
    expect(await service.cli('accounts', 'lift-suspension', accountId, ...because)).toEqual({
      account_id: accountId,
      suspended: false,
      changed: true,
      fee_difference_cents: 0,
    });
    expect((await queue(key)).status).toBe(202);
  });

  it('is refused from the append on that suspends it, where its row in Postgres does not show that yet', async () => {
    const { accountId, key } = await service.openAccount('enterprise');
    const suspended = await whileRowIsHeld(accountId, async () => {
      const suspending = service.cli('accounts', 'suspend', accountId, ...because);
      await untilLogged(`usage-${accountId}`, 'AccountSuspended');
      for (const path of ['/credits', '/usage'])
        expect((await call(service.url, path, { key })).message, path).toContain('suspended');
      return { suspending };
    });
    expect(await suspended.suspending).toMatchObject({ suspended: true, changed: true });
  });

  it('is refused by every endpoint, and not where no key is asked for', async () => {
    const { accountId, key } = await service.openAccount('enterprise');
    const { request_token: token } = await queueDownload(service.url, key, { url: service.sampleUrl('bars') });
    const done = await ended(service.url, key, token);
    const link = 'download_url' in done ? done.download_url : '';
    await service.cli('accounts', 'suspend', accountId, ...because);
    const remaining: number[] = [];
    for (const { method, path } of endpoints) {
      const refused = await call(service.url, path, { method, key });
      expect([refused.status, refused.message], path).toEqual([401, expect.stringContaining('suspended') as string]);
      remaining.push(Number(refused.headers.get('x-ratelimit-remaining')));
    }
    // Each takes a place in the window of its key.
    expect(remaining).toEqual(remaining.map((_, index) => (remaining[0] ?? 0) - index));
    for (const open of [link, `${service.url}/docs`, `${service.url}/openapi.json`])
      expect((await fetch(open)).status, open).toBe(200);
  });
});

describe('a closed account', () => {
  it('is refused from the append on that closes it, where its row in Postgres does not show that yet', async () => {
    const { accountId, key } = await service.openAccount('enterprise');
    const closed = await whileRowIsHeld(accountId, async () => {
      const closing = service.cli('accounts', 'close', accountId, ...because);
      await untilLogged(`account-${accountId}`, 'AccountClosed');
      const refused = {
        status: 401,
        error: { code: 'unauthorized', message: expect.stringContaining('closed') as string },
      };
      expect(errorOf(await queue(key))).toEqual(refused);
      for (const path of ['/credits', '/usage'])
        expect(errorOf(await call(service.url, path, { key })), path).toEqual(refused);
      return { closing };
    });
    expect(await closed.closing).toMatchObject({ closed: true, changed: true });
  });

  it('has no key in force, takes no change, and is closed once', async () => {
    const { accountId, key } = await service.openAccount('enterprise');
    expect(await service.cli('accounts', 'close', accountId, ...because)).toMatchObject({
      closed: true,
      changed: true,
    });
    expect(errorOf(await queue(key))).toMatchObject({ status: 401, error: { code: 'unauthorized' } });
    expect(await service.cli('accounts', 'close', accountId, ...because)).toMatchObject({
      closed: true,
      changed: false,
    });
    expect(await service.cli('accounts', 'show', accountId)).toMatchObject({ closed: true, active_keys: 0 });
    for (const words of [
      ['keys', 'issue', accountId],
      ['accounts', 'plan', accountId, 'dev_100'],
    ])
      await expect(service.cli(...words)).rejects.toThrow(/is closed/);
    const second = await service.cli('people', 'invite', accountId, 'second@example.com');
    expect(second).toMatchObject({ email: 'second@example.com' });
  });
});

describe('a key with a limit', () => {
  it('is refused with the contract’s codes and a text that names its limit, and issues no other key', async () => {
    const { accountId, key, keyId } = await service.openAccount('enterprise');
    expect(await service.cli('keys', 'limit', keyId, '--downloads', '1')).toMatchObject({
      limit: { downloads: 1, overage_cents: null, until: null },
      used: { downloads: 0 },
    });
    expect((await queue(key)).status).toBe(202);
    expect(errorOf(await queue(key))).toEqual({
      status: 402,
      error: {
        code: 'download_quota_exceeded',
        message: expect.stringContaining('this API key is reached: 1 downloads') as string,
      },
    });
    const issue = await call(service.url, '/auth/key', { method: 'POST', key });
    expect(errorOf(issue)).toMatchObject({ status: 400, error: { code: 'invalid_request' } });
    expect(await service.cli('keys', 'list', accountId)).toMatchObject({
      keys: [{ key_id: keyId, limit: { downloads: 1 }, used_of_limit: { downloads: 1 } }],
    });
    await service.cli('keys', 'limit', keyId, '--downloads', 'none');
    expect((await queue(key)).status).toBe(202);
  });

  it('stops before the cents of its overage are exceeded', async () => {
    const { accountId, key, keyId } = await service.openAccount('dev_100');
    await service.cli('accounts', 'terms', accountId, '--downloads', '0', '--hourly', '500');
    await service.cli('keys', 'limit', keyId, '--overage-cents', '30');
    expect((await queue(key)).status).toBe(202);
    expect(errorOf(await queue(key))).toEqual({
      status: 402,
      error: { code: 'overage_cap_reached', message: expect.stringContaining('$0.30 of overage') as string },
    });
  });

  it('is refused everywhere once its last day is over', async () => {
    const { key, keyId } = await service.openAccount('enterprise');
    await service.cli('keys', 'limit', keyId, '--until', '2020-01-31');
    const refused = {
      status: 401,
      error: { code: 'unauthorized', message: expect.stringContaining('last day') as string },
    };
    expect(errorOf(await queue(key))).toEqual(refused);
    expect(errorOf(await credits(key))).toEqual(refused);
  });
});

it('the demo account is none of these', async () => {
  expect((await credits(demoOf(service).key)).status).toBe(200);
});
