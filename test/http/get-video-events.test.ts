import { describe, expect, it } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { type Answer, call, expectError } from '../support/client.ts';
import { queue, statusOf } from '../support/downloads.ts';
import { expireFile, takeJob, waitForEnd, waitForJob } from './engines-behind.ts';
import { creditsOf, exhaust, issueKey } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

type Events = components['schemas']['DownloadEvents'];

/** A worker makes films here, and none there. */
const service = shareService();
const idle = shareService(noDownloads);

const path = (after?: string) => `/video/events${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`;

const eventsOf = async (asked: Promise<Answer>): Promise<Events> => {
  const { status, data } = await asked;
  expect(status).toBe(200);
  return data as unknown as Events;
};

const tokensOf = ({ events }: Events): string[] => events.map(({ request_token: token }) => token);
const leftOf = ({ headers }: Answer): number => Number(headers.get('x-ratelimit-remaining'));

/** Each link is another one. */
const withoutLink = ({ download_url: _, ...rest }: Record<string, unknown>) => rest;

async function queueIdle(key: string): Promise<string> {
  const { request_token: token } = await queue(idle.url, key, { url: idle.sampleUrl('bars') });
  await waitForJob(idle, token);
  return token;
}

async function fail(token: string): Promise<void> {
  await takeJob(idle, token, { failing: true });
  await waitForEnd(idle, token);
}

describe('GET /video/events, 200', () => {
  it('tells each download that has ended as its status says, in the order in which they ended', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const tokens: string[] = [];
    for (const item of ['private', 'bars']) {
      const { request_token: token } = await queue(url, key, { url: sampleUrl(item), quality: '360' });
      await waitForEnd(service, token);
      tokens.push(token);
    }
    const told = await eventsOf(call(url, path(), { key }));
    expect(tokensOf(told)).toEqual(tokens);
    for (const [index, token] of tokens.entries()) {
      const { data } = await statusOf(url, key, token);
      expect(withoutLink({ ...told.events[index] })).toEqual(withoutLink(data));
    }
    const [failed, done] = told.events as [
      components['schemas']['DownloadFailed'],
      components['schemas']['DownloadDone'],
    ];
    expect([failed.status, failed.error, failed.charge]).toEqual([
      'failed',
      'private_video',
      { credits: 1, cents: 0, given_back_cents: 0 },
    ]);
    expect((await fetch(done.download_url)).status).toBe(200);
    const rest = await eventsOf(call(url, path(told.next), { key }));
    expect(rest).toEqual({ events: [], next: told.next });

    const gone = tokens[1] ?? '';
    await expireFile(service, gone);
    const after = await eventsOf(call(url, path(), { key }));
    expect(after.events.map((each) => ('error' in each ? each.error : ''))).toEqual([
      'private_video',
      'delivery_failed',
    ]);
    expect(after.events[1]).toEqual({
      ...withoutFile(done),
      error: 'delivery_failed',
      message: 'The file is no longer available; request a fresh download',
    });
  });

  it('goes on from a cursor, or from now, and tells any key of the account', async () => {
    const { url } = idle;
    const { key } = await idle.openAccount('dev_100');
    const other = await issueKey(url, key);
    const start = await eventsOf(call(url, path(), { key }));
    expect(start.events).toEqual([]);
    const tokens = [await queueIdle(key), await queueIdle(other), await queueIdle(key)] as const;
    await fail(tokens[1]);
    const first = await eventsOf(call(url, path(start.next), { key }));
    expect(tokensOf(first)).toEqual([tokens[1]]);
    const now = await eventsOf(call(url, path('now'), { key: other }));
    expect(now).toEqual({ events: [], next: first.next });
    await fail(tokens[0]);
    expect(tokensOf(await eventsOf(call(url, path(now.next), { key })))).toEqual([tokens[0]]);
    expect(tokensOf(await eventsOf(call(url, path(), { key: other })))).toEqual([tokens[1], tokens[0]]);
  });

  it('costs no credit, and carries the four headers', async () => {
    const { url } = idle;
    const { key } = await idle.openAccount('dev_100');
    const before = await creditsOf(url, key);
    const { headers } = await call(url, path(), { key });
    expect(headers.get('x-credits-remaining')).toBe('100');
    expect(await creditsOf(url, key)).toEqual(before);
  });
});

describe('GET /video/events, 200 after it has waited', () => {
  it('is answered once a download has ended, and takes no place of the hour the first time', async () => {
    const { url } = idle;
    const { key } = await idle.openAccount('dev_100');
    const token = await queueIdle(key);
    const { headers, data } = await call(url, path('now'), { key });
    const left = Number(headers.get('x-ratelimit-remaining'));
    const headersOfWait = { prefer: 'wait=60' };
    const waiting = call(url, path(String(data['next'])), { key, headers: headersOfWait });
    await fail(token);
    const first = await waiting;
    expect(first.headers.get('preference-applied')).toBe('wait=60');
    expect([tokensOf(await eventsOf(waiting)), leftOf(first)]).toEqual([[token], left]);
    // Told again, it takes one.
    const again = await call(url, path(String(data['next'])), { key, headers: headersOfWait });
    expect([again.headers.get('preference-applied'), leftOf(again)]).toEqual(['wait=60', left - 1]);
    const short = await call(url, path(String(again.data['next'])), { key, headers: { prefer: 'wait=1' } });
    expect([short.data['events'], leftOf(short)]).toEqual([[], left - 2]);
  });
});

describe('GET /video/events, 400', () => {
  it('invalid_request for a cursor that was changed, is spelled otherwise, or is of another account', async () => {
    const { url } = idle;
    const { key } = await idle.openAccount('enterprise');
    const { key: foreign } = await idle.openAccount('dev_100');
    const { data } = await call(url, path('now'), { key: foreign });
    const { next } = await eventsOf(call(url, path('now'), { key }));
    const bytes = Buffer.from(next, 'base64url');
    const changed = [...bytes.keys()].map((index) => {
      const other = Buffer.from(bytes);
      other.writeUInt8(other.readUInt8(index) ^ 1, index);
      return other.toString('base64url');
    });
    const texts = [
      String(data['next']),
      `${next}=`,
      ` ${next}`,
      bytes.toString('hex'),
      next.slice(1),
      'x',
      '1',
      ...changed,
    ];
    for (const text of texts) {
      const { status, code, message } = await call(url, path(text), { key });
      expect([text, status, code]).toEqual([text, 400, 'invalid_request']);
      expect(message).toMatch(/^after: /);
    }
    for (const query of ['?after=', '?after=a&after=b', `?after=${'x'.repeat(201)}`])
      await expectError(call(url, `/video/events${query}`, { key }), '400 invalid_request');
  });
});

describe('GET /video/events, 401', () => {
  it('wants a key', async () => {
    await expectError(call(idle.url, path()), '401 unauthorized');
  });
});

describe('GET /video/events, 405', () => {
  it('is no endpoint to post to', async () => {
    const { key } = await idle.openAccount('dev_100');
    await expectError(call(idle.url, path(), { key, body: {} }), '405 method_not_allowed');
  });
});

describe('GET /video/events, 429', () => {
  it('refuses in a full hour, unless it tells an end for the first time', async () => {
    const { url } = idle;
    const { key } = await idle.openAccount('dev_100');
    const token = await queueIdle(key);
    const { next } = await eventsOf(call(url, path('now'), { key }));
    await exhaust(url, key);
    const headers = { prefer: 'wait=60' };
    await expectError(call(url, path(next), { key }), '429 rate_limited');
    await expectError(call(url, path(next), { key, headers: { prefer: 'wait=1' } }), '429 rate_limited');
    await fail(token);
    const told = await call(url, path(next), { key, headers });
    expect([tokensOf(told.data as unknown as Events), leftOf(told)]).toEqual([[token], 0]);
    await expectError(call(url, path(next), { key, headers }), '429 rate_limited');
  });
});

function withoutFile(done: components['schemas']['DownloadDone']) {
  const { download_url: _url, expires_in: _seconds, file_size_bytes: _size, file_mime: _mime, ...rest } = done;
  return rest;
}
