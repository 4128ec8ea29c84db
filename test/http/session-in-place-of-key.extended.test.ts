import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../src/domain/people.ts';
import type { Browser } from '../console/browser.ts';
import { consoleOfFile } from '../console/owner/console-of-file.ts';
import { call } from '../support/client.ts';
import type { ServiceProcess } from '../support/service.ts';
import { together } from './requests.ts';

/** POST /auth/key by an owner who is signed in to the console (contract §4.5). */

const service = await consoleOfFile();
let other: ServiceProcess;
let accountId: string;
let browser: Browser;

beforeAll(async () => {
  other = await service.installation.startRole('api');
  accountId = await service.openAccount('owner@example.com');
  browser = await service.newSession({ accountId, personId: openerOf(accountId) });
});

type Fields = Record<string, string>;
const cookieOf = ({ session = ['', ''] }: Browser) => session.join('=');
const headersOf = (of: Browser, { url }: { url: string } = service.api): Fields => ({
  cookie: cookieOf(of),
  origin: url,
  'x-csrf-token': of.formToken ?? '',
});
const issue = (headers: Fields, key?: string, { url }: { url: string } = service.api) =>
  call(url, '/auth/key', { body: { label: 'by a session' }, headers, ...(key !== undefined && { key }) });

describe('a session in place of a key', () => {
  it('issues a key that works, in the name of the person', async () => {
    const { status, data, headers } = await issue(headersOf(browser));
    expect(status).toBe(201);
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['500', '499']);
    const credits = await call(service.api.url, '/credits', { key: String(data['key']) });
    expect(credits.status).toBe(200);
    expect(headers.get('x-credits-remaining')).toBe(credits.headers.get('x-credits-remaining'));
    const events = await service.installation.readLog(`account-${accountId}`);
    expect(events.at(-1)).toMatchObject({
      type: 'ApiKeyIssued',
      metadata: { actor: { type: 'owner', id: openerOf(accountId) } },
    });
    await service.installation.cli(['ledger', 'verify']);
  });

  it('is no session without its cookie, its origin and its token: answered as a request without a key', async () => {
    const before = (await service.installation.readLog(`account-${accountId}`)).length;
    const without = await issue({});
    const another = await service.newSession({ accountId, personId: openerOf(accountId) });
    const full = headersOf(browser);
    const { cookie = '', origin = '', 'x-csrf-token': token = '' } = full;
    const wrong: Fields[] = [
      ...['null', 'https://evil.example', `${origin}/`, ''].map((each) => ({ ...full, origin: each })),
      ...['', 'wrong', another.formToken ?? ''].map((each) => ({ ...full, 'x-csrf-token': each })),
      ...[`${cookie}; ${cookie}`, `${cookie}x`, 'reeltally_session=', ''].map((each) => ({ ...full, cookie: each })),
      { cookie, origin },
      { cookie, 'x-csrf-token': token },
      { origin, 'x-csrf-token': token },
    ];
    for (const headers of wrong) {
      const answer = await issue(headers);
      expect([answer.status, answer.text, [...answer.headers.keys()]]).toEqual([
        401,
        without.text,
        [...without.headers.keys()],
      ]);
      expect(answer.headers.get('x-credits-remaining')).toBe('0');
    }
    const after = (await service.installation.readLog(`account-${accountId}`)).length;
    expect(after).toBe(before);
  });

  it('issues a key of a suspended account too, which is refused until that is lifted', async () => {
    const suspendedId = await service.openAccount('suspended@example.com');
    const person = await service.newSession({ accountId: suspendedId, personId: openerOf(suspendedId) });
    const because = ['--reason', 'a stolen card'];
    await service.installation.cli(['accounts', 'suspend', suspendedId, ...because]);
    const { status, data } = await issue(headersOf(person));
    expect(status).toBe(201);
    const key = String(data['key']);
    expect((await call(service.api.url, '/credits', { key })).status).toBe(401);
    await service.installation.cli(['accounts', 'lift-suspension', suspendedId, ...because]);
    expect((await call(service.api.url, '/credits', { key })).status).toBe(200);
  });

  it('loses to a key, valid or not', async () => {
    const { data } = await issue(headersOf(browser));
    const byKey = await issue(headersOf(browser), String(data['key']));
    expect([byKey.status, byKey.headers.get('x-ratelimit-remaining')]).toEqual([201, '499']);
    expect((await issue(headersOf(browser), 'rtk_invalid')).status).toBe(401);
    expect((await issue({ ...headersOf(browser), authorization: '' })).status).toBe(401);
  });

  it('is ignored by every other endpoint', async () => {
    const headers = headersOf(browser);
    for (const path of ['/credits', '/video/status?token=x', '/video/metadata?url=x']) {
      expect((await call(service.api.url, path, { headers })).status).toBe(401);
    }
    expect((await call(service.api.url, '/video/download', { headers, body: { url: 'x' } })).status).toBe(401);
  });

  it('shares one exact hourly window with the account’s other sessions, over all processes', async () => {
    const small = await service.openAccount('small@example.com', 'sandbox');
    const person = { accountId: small, personId: openerOf(small) };
    const sessions = [await service.newSession(person), await service.newSession(person)] as const;
    const limit = Number((await issue(headersOf(sessions[0]))).headers.get('x-ratelimit-limit'));
    const answers = await together(limit + 10, (index) => {
      const [session, at] = [sessions[index & 1]!, index % 3 === 0 ? other : service.api];
      return issue(headersOf(session, at), undefined, at);
    });
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.length - refused.length).toBe(limit - 1);
    for (const { headers } of refused) {
      const seconds = Number(headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(3_500);
      expect(seconds).toBeLessThanOrEqual(3_601);
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
    }
    // The oldest leaves the hour, and makes room for one.
    await service.sql(
      "update session_windows set admitted[1] = admitted[1] - interval '1 hour' where account_id = $1",
      [small],
    );
    expect([(await issue(headersOf(sessions[1]))).status, (await issue(headersOf(sessions[0]))).status]).toEqual([
      ...[400, 429],
    ]);
  });
});
