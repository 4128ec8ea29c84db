import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WaitingPolls } from '../../src/http/waiting-polls.ts';
import { ServicePart } from '../../src/ports/service-parts.ts';
import { type Answer, call, expectError } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { atMostMs, scaled } from '../support/proof-scale.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { waitFor } from '../support/wait-for.ts';
import { takeJob, waitForChange, waitForJob } from './engines-behind.ts';
import { exhaust, issueKey, together } from './requests.ts';
import { demoOf, noDownloads, ownService } from './shared-service.ts';

/** Nothing happens to a job here but what a test does. */
const service = ownService(noDownloads);
const statusPath = (token: string) => `/video/status?token=${token}`;

async function newJob(): Promise<{ token: string; key: string }> {
  const { url, sampleUrl } = service;
  const key = await issueKey(url, demoOf(service).key);
  const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
  // Before that, it is the log that knows it.
  await waitForJob(service, token);
  return { token, key };
}

const poll = (url: string, { token, key }: { token: string; key: string }, prefer: string): Promise<Answer> =>
  call(url, statusPath(token), { key, headers: { prefer } });

const waitingAt = async (url: string): Promise<number> => (await readMetric(url, 'reeltally_waiting_polls')) ?? NaN;

async function untilWaiting(url: string, count: number): Promise<void> {
  await waitFor(async () => (await waitingAt(url)) === count, { what: `${String(count)} polls to wait` });
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1_000;
}

const applied = ({ headers }: Answer): string | null => headers.get('preference-applied');

describe('a poll that waits', () => {
  it('is answered once the status is another one, at every process, and takes one slot of the hour', async () => {
    const { url } = service;
    await using other = await service.startRole('api');
    const job = await newJob();
    const { headers } = await call(url, statusPath(job.token), job);
    const left = Number(headers.get('x-ratelimit-remaining'));
    const each = scaled(10, 200);
    const waiting = [url, other.url].map((origin) => together(each, () => poll(origin, job, 'wait=60')));
    await Promise.all([untilWaiting(url, each), untilWaiting(other.url, each)]);
    await takeJob(service, job.token);
    const answers = (await Promise.all(waiting)).flat();
    expect(new Set(answers.map(({ data }) => data['status']))).toEqual(new Set(['claimed']));
    expect(new Set(answers.map(applied))).toEqual(new Set(['wait=60']));
    // What is left is what is left at the answer, not at the request.
    const remaining = answers.map((answer) => Number(answer.headers.get('x-ratelimit-remaining')));
    expect(new Set(remaining)).toEqual(new Set([left - 2 * each]));
  });

  it('waits for a job that only the log knows yet', async () => {
    const { url, sampleUrl } = service;
    const { key } = demoOf(service);
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
    const answer = await poll(url, { token, key }, 'wait=1');
    expect([answer.data['status'], applied(answer)]).toEqual(['queued', 'wait=1']);
  });

  it('gives its place back when its client goes away', async () => {
    const { url } = service;
    const { token, key } = await newJob();
    const headers = { authorization: `Bearer ${key}`, prefer: 'wait=60' };
    const sent = get(`${url}/api/v1${statusPath(token)}`, { headers, agent: false });
    sent.on('error', () => undefined);
    await untilWaiting(url, 1);
    sent.destroy();
    await untilWaiting(url, 0);
  });

  it('is answered at once when its process is to stop', async () => {
    await using other = await service.startRole('api');
    const job = await newJob();
    const answer = poll(other.url, job, 'wait=60');
    await untilWaiting(other.url, 1);
    expect(await secondsOf(() => other.stop())).toBeLessThan(4);
    expect((await answer).data['status']).toBe('queued');
  });

  it('is answered 401 within a second after its key was revoked, at every process', async () => {
    const { url, sampleUrl } = service;
    await using other = await service.startRole('api');
    const { key, keyId } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
    await waitForJob(service, token);
    const answers = [url, other.url].map((origin) => poll(origin, { token, key }, 'wait=60'));
    await Promise.all([untilWaiting(url, 1), untilWaiting(other.url, 1)]);
    // The command ends once the key is revoked for admission.
    await service.cli('keys', 'revoke', keyId);
    const sinceMs = performance.now();
    for (const answer of answers) await expectError(answer, '401 unauthorized');
    expect(performance.now() - sinceMs).toBeLessThan(atMostMs(1_000));
  });
});

const untilEnded = 'wait=60, until=ended';
const leftOf = ({ headers }: Answer): number => Number(headers.get('x-ratelimit-remaining'));

async function fail(token: string): Promise<void> {
  await takeJob(service, token, { failing: true });
}

describe('a poll that waits for the end', () => {
  it('is answered once the download has ended, and takes no place of the hour the first time', async () => {
    const { url } = service;
    const job = await newJob();
    const left = leftOf(await call(url, statusPath(job.token), job));
    const answer = poll(url, job, untilEnded);
    await untilWaiting(url, 1);
    await fail(job.token);
    const first = await answer;
    expect([first.data['status'], applied(first), leftOf(first)]).toEqual(['failed', untilEnded, left]);
    const again = await poll(url, job, untilEnded);
    expect([again.data['status'], applied(again), leftOf(again)]).toEqual(['failed', untilEnded, left - 1]);
  });

  it('tells each end once though the window is full, however late it is asked', async () => {
    const { url, sampleUrl } = service;
    const { key } = await service.openAccount('dev_100');
    const [early, late] = await Promise.all(
      [1, 2].map(async () => (await queue(url, key, { url: sampleUrl('bars') })).request_token),
    );
    for (const token of [early!, late!]) await waitForJob(service, token);
    await exhaust(url, key);
    await expectError(poll(url, { token: early!, key }, 'wait=60'), '429 rate_limited');
    const waiting = poll(url, { token: early!, key }, untilEnded);
    await untilWaiting(url, 1);
    for (const token of [early!, late!]) await fail(token);
    for (const token of [early!, late!])
      for (const status of ['queued', 'claimed']) await waitForChange(service, token, status);
    const answers = [await waiting, await poll(url, { token: late!, key }, untilEnded)];
    expect(answers.map((each) => [each.status, each.data['status'], leftOf(each)])).toEqual([
      [200, 'failed', 0],
      [200, 'failed', 0],
    ]);
    for (const token of [early!, late!]) await expectError(poll(url, { token, key }, untilEnded), '429 rate_limited');
  });

  it('takes a place where it tells no end before a minute is over, or is told to nobody', async () => {
    const { url } = service;
    const job = await newJob();
    const left = leftOf(await call(url, statusPath(job.token), job));
    const short = await poll(url, job, 'wait=1, until=ended');
    expect([short.data['status'], applied(short), leftOf(short)]).toEqual(['queued', 'wait=1, until=ended', left - 1]);
    const none = await poll(url, job, 'wait=0, until=ended');
    expect([none.data['status'], leftOf(none)]).toEqual(['queued', left - 2]);
    const other = await service.openAccount('dev_100');
    const foreign = await poll(url, { token: job.token, key: other.key }, untilEnded);
    expect([foreign.status, leftOf(foreign)]).toEqual([404, 29]);
    const headers = { authorization: `Bearer ${job.key}`, prefer: untilEnded };
    const sent = get(`${url}/api/v1${statusPath(job.token)}`, { headers, agent: false }).on('error', () => undefined);
    await untilWaiting(url, 1);
    sent.destroy();
    await untilWaiting(url, 0);
    await waitFor(async () => leftOf(await call(url, statusPath(job.token), job)) < left - 3, {
      what: 'the poll of a client that went away to be counted',
    });
  });
});

const eventsPath = (after: string) => `/video/events?after=${after}`;
const askEvents = (url: string, { key, after }: { key: string; after: string }, prefer = 'wait=60') =>
  call(url, eventsPath(after), { key, headers: { prefer } });
const now = async (key: string) => String((await call(service.url, eventsPath('now'), { key })).data['next']);

describe('what waits in vain', () => {
  /** The three wait at the same time, because nothing else is done meanwhile. */
  it('is answered with what there is when the time is over, and takes no place of the hour after a whole minute', async () => {
    const { url } = service;
    const [short, whole, { key }] = [await newJob(), await newJob(), await service.openAccount('dev_100')];
    const after = await now(key);
    const left = leftOf(await call(url, statusPath(whole.token), whole));
    const leftOfEvents = leftOf(await call(url, eventsPath(after), { key }));
    let answer: Answer | undefined;
    const [seconds, ofJob, ofEvents] = await Promise.all([
      // However long a request may take to arrive.
      secondsOf(async () => (answer = await poll(url, short, 'respond-async, Wait=12'))),
      poll(url, whole, untilEnded),
      askEvents(url, { key, after }),
    ]);
    expect(seconds).toBeGreaterThan(12);
    expect(seconds).toBeLessThan(16);
    expect(answer && [answer.status, answer.data['status'], applied(answer)]).toEqual([200, 'queued', 'wait=12']);
    expect([ofJob.data['status'], applied(ofJob), leftOf(ofJob)]).toEqual(['queued', untilEnded, left]);
    const none = { events: [], next: after };
    expect([ofEvents.data, applied(ofEvents), leftOf(ofEvents)]).toEqual([none, 'wait=60', leftOfEvents]);
  });
});

describe('a request for events that waits', () => {
  it('is answered at every process once any download of the account ends, and not by that of another account', async () => {
    const { url, sampleUrl } = service;
    await using other = await service.startRole('api');
    const [own, foreign] = [await service.openAccount('dev_100'), await service.openAccount('dev_100')];
    const tokens: string[] = [];
    for (const { key } of [own, foreign]) {
      const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
      await waitForJob(service, token);
      tokens.push(token);
    }
    const after = await now(own.key);
    const answers = [url, other.url].map((origin) => askEvents(origin, { key: own.key, after }));
    await Promise.all([untilWaiting(url, 1), untilWaiting(other.url, 1)]);
    await fail(tokens[1]!);
    for (const status of ['queued', 'claimed']) await waitForChange(service, tokens[1]!, status);
    expect(await waitingAt(url)).toBe(1);
    await fail(tokens[0]!);
    for (const answer of await Promise.all(answers)) {
      expect([answer.status, applied(answer)]).toEqual([200, 'wait=60']);
      expect(answer.data['events']).toMatchObject([{ request_token: tokens[0], status: 'failed' }]);
    }
  });

  it('is answered 401 within a second after its key was revoked, and at once when its process is to stop', async () => {
    const { key, keyId } = await service.openAccount('dev_100');
    const after = await now(key);
    const answer = askEvents(service.url, { key, after });
    await untilWaiting(service.url, 1);
    await service.cli('keys', 'revoke', keyId);
    const sinceMs = performance.now();
    await expectError(answer, '401 unauthorized');
    expect(performance.now() - sinceMs).toBeLessThan(atMostMs(1_000));

    const stopped = await service.openAccount('dev_100');
    await using other = await service.startRole('api');
    const last = askEvents(other.url, { key: stopped.key, after: await now(stopped.key) });
    await untilWaiting(other.url, 1);
    expect(await secondsOf(() => other.stop())).toBeLessThan(4);
    expect((await last).data['events']).toEqual([]);
  });

  it('takes a place of the hour where its client goes away', async () => {
    const { url } = service;
    const { key } = await service.openAccount('dev_100');
    const after = await now(key);
    const left = leftOf(await call(url, eventsPath(after), { key }));
    const headers = { authorization: `Bearer ${key}`, prefer: 'wait=60' };
    const sent = get(`${url}/api/v1${eventsPath(after)}`, { headers, agent: false }).on('error', () => undefined);
    await untilWaiting(url, 1);
    sent.destroy();
    await untilWaiting(url, 0);
    await waitFor(async () => leftOf(await call(url, eventsPath(after), { key })) < left - 1, {
      what: 'the request of a client that went away to be counted',
    });
  });
});

describe('a preference', () => {
  it.each([
    ['wait=3600', 'wait=60'],
    ['wait=99999999999999999999999', 'wait=60'],
    ['foo="a, wait=1", wait=5; bar', 'wait=5'],
    ['wait=7, wait=1', 'wait=7'],
    ['wait=0', 'wait=0'],
    ['until=ended, wait=60', 'wait=60, until=ended'],
    ['wait=60, Until="ended"', 'wait=60, until=ended'],
    ['wait=60; until=ended, until=next, until=ended', 'wait=60'],
  ])('%s is taken as %s, and an ended job is answered at once', async (prefer, taken) => {
    const { url } = service;
    const job = await newJob();
    await takeJob(service, job.token, { failing: true });
    for (const status of ['queued', 'claimed']) await waitForChange(service, job.token, status);
    const answer = await poll(url, job, prefer);
    expect([answer.data['status'], applied(answer)]).toEqual(['failed', taken]);
  });

  it.each(['wait', 'wait=', 'wait=-1', 'wait=1.5', 'wait=1s', 'respond-async', 'wait=x, wait=60', 'until=ended', ''])(
    'that is malformed, or another one, is ignored: %s',
    async (prefer) => {
      const answer = await poll(service.url, await newJob(), prefer);
      expect([answer.data['status'], applied(answer)]).toEqual(['queued', null]);
    },
  );
});

describe('places to wait', () => {
  it('are limited, and none is left once they are to stop', async () => {
    const none = {
      changedJobs: async () => [],
      placesPassed: async () => [],
      keysNotInForce: async () => new Set<string>(),
      part: new ServicePart('the jobs of a test', undefined),
    };
    const polls = new WaitingPolls({ ...none, maxWaiting: 2 });
    const { signal: gone } = new AbortController();
    const wait = () => polls.wait([{ token: 'a', status: 'queued' }], { seconds: 60, gone, holder: 'acc_a' });
    const [first, second] = [wait(), wait()];
    expect([polls.count, wait()]).toEqual([2, undefined]);
    polls.stop();
    await first;
    await second;
    expect([polls.count, wait()]).toEqual([0, undefined]);
  });

  it('are for everybody: an account that has taken a tenth of them is answered at once, and others wait', async () => {
    const { url, sampleUrl } = service;
    const job = await newJob();
    const { key } = await service.openAccount('dev_100');
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars') });
    await waitForJob(service, token);
    const mine = together(200, () => poll(url, job, 'wait=60'));
    await untilWaiting(url, 200);
    const beyond = await poll(url, job, 'wait=60');
    expect([beyond.status, beyond.data['status'], applied(beyond)]).toEqual([200, 'queued', null]);
    const other = poll(url, { token, key }, 'wait=60');
    await untilWaiting(url, 201);
    for (const each of [job.token, token]) await takeJob(service, each);
    expect(new Set((await mine).map(applied))).toEqual(new Set(['wait=60']));
    expect([(await other).data['status'], applied(await other)]).toEqual(['claimed', 'wait=60']);
    // They are free again.
    const last = poll(url, job, 'wait=1');
    expect(applied(await last)).toBe('wait=1');
  });
});
