import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { answerProbes, createProbeClient } from '../../../src/adapters/nats/metadata-channel.ts';
import { createProgressReporter, followProgress } from '../../../src/adapters/nats/progress-channel.ts';
import type { Answering } from '../../../src/adapters/nats/request-reply.ts';
import { answerShortLinks, createShortLinkClient } from '../../../src/adapters/nats/short-link-channel.ts';
import type { ShortLinkAnswer, VideoReference } from '../../../src/ports/videos.ts';
import { createShortLinkAnswerer } from '../../../src/worker/answer-short-links.ts';
import { connectTo, startNatsServer, type TestNatsServer } from '../../support/nats.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

let server: TestNatsServer;
let api: NatsConnection;
let worker: NatsConnection;
beforeAll(async () => {
  server = await startNatsServer();
  [api, worker] = [await connectTo(server.url), await connectTo(server.url)];
});
afterAll(async () => {
  await Promise.all([api.close(), worker.close()]);
  await server.remove();
});

const video = { platform: 'sample', videoId: 'clip', canonicalUrl: 'http://127.0.0.1/watch/clip' };
const metadata = { title: 'A clip', durationSeconds: 10, thumbnail: '', downloadRefusal: null };

/** Makes a worker's subscription known to the server, and its end too when the test is over. */
async function untilTestEnds({ stop }: Pick<Answering, 'stop'>): Promise<void> {
  onTestFinished(async () => {
    await stop();
    await worker.flush();
  });
  await worker.flush();
}

const answerWith = (answer: Parameters<typeof answerProbes>[1]) => untilTestEnds(answerProbes(worker, answer));

describe('a question about a video', () => {
  it('is answered by a worker, with what it found or why it found nothing', async () => {
    const asked: VideoReference[] = [];
    await answerWith((about) => {
      asked.push(about);
      if (about.videoId === 'clip') return Promise.resolve({ ok: true, metadata });
      return Promise.resolve({ ok: false, reason: 'private_video', detail: 'members only' });
    });
    const client = createProbeClient(api, { timeoutMs: patienceMs });
    expect(await client.probe(video)).toEqual({ ok: true, metadata });
    expect(asked).toEqual([video]);
    expect(await client.probe({ ...video, videoId: 'other' })).toEqual({
      ok: false,
      reason: 'private_video',
      detail: 'members only',
    });
  });

  it('goes to one worker only', async () => {
    let answered = 0;
    const answer = () => {
      answered += 1;
      return Promise.resolve({ ok: true as const, metadata });
    };
    await answerWith(answer);
    await answerWith(answer);
    const client = createProbeClient(api, { timeoutMs: patienceMs });
    await Promise.all(Array.from({ length: 20 }, () => client.probe(video)));
    expect(answered).toBe(20);
  });

  it('fails at once when there is no worker, however long one would wait', async () => {
    const startedAtMs = performance.now();
    const answer = await createProbeClient(api, { timeoutMs: patienceMs }).probe(video);
    expect(answer).toMatchObject({ ok: false, reason: 'platform_error' });
    expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(3_000));
  });

  it.each<[string, Parameters<typeof answerProbes>[1]]>([
    ['says nothing', () => new Promise(() => undefined)],
    ['fails', () => Promise.reject(new Error('a planted failure'))],
  ])('fails at its time limit when the worker %s', async (_what, answer) => {
    await answerWith(answer);
    expect(await createProbeClient(api, { timeoutMs: 200 }).probe(video)).toMatchObject({ ok: false });
  });

  it('fails when the answer is none of ours', async () => {
    const intruder = worker.subscribe('probes', { callback: (_error, message) => message.respond('{"ok":"yes"}') });
    await untilTestEnds({ stop: () => intruder.drain() });
    expect(await createProbeClient(api, { timeoutMs: 2_000 }).probe(video)).toMatchObject({ ok: false });
  });

  it('that a worker has taken is answered, also when it takes no more', async () => {
    const found = Promise.withResolvers<undefined>();
    const answering = answerProbes(worker, async () => {
      await found.promise;
      return { ok: true, metadata };
    });
    await worker.flush();
    const asked = createProbeClient(api, { timeoutMs: patienceMs }).probe(video);
    await api.flush();
    await answering.stop();
    found.resolve(undefined);
    await answering.answered();
    expect(await asked).toEqual({ ok: true, metadata });
  });

  it('that nobody can read leaves the worker at work', async () => {
    await answerWith(() => Promise.resolve({ ok: true, metadata }));
    api.publish('probes', 'not JSON', { reply: 'nobody' });
    api.publish('probes', '{}');
    expect(await createProbeClient(api, { timeoutMs: patienceMs }).probe(video)).toEqual({ ok: true, metadata });
  });
});

describe('a question about a short link', () => {
  const link = { platform: 'sample', videoId: 'clip', url: 'http://127.0.0.1/s/clip' };
  const client = (timeoutMs: number) => createShortLinkClient(api, { timeoutMs });
  const answerLinks = (answer: Parameters<typeof answerShortLinks>[1]) =>
    untilTestEnds(answerShortLinks(worker, answer));

  it.each<ShortLinkAnswer>([
    { outcome: 'found', url: 'http://127.0.0.1/watch/clip' },
    { outcome: 'unresolved' },
    { outcome: 'platform_failed' },
    { outcome: 'no_answer' },
  ])('is answered by a worker: $outcome', async (answer) => {
    const asked: string[] = [];
    await answerLinks((url) => {
      asked.push(url);
      return Promise.resolve(answer);
    });
    expect(await client(5_000).lookUp(link)).toEqual(answer);
    expect(asked).toEqual([link.url]);
  });

  it('is not answered where there is no worker, at once', async () => {
    const startedAtMs = performance.now();
    expect(await client(patienceMs).lookUp(link)).toEqual({ outcome: 'no_answer' });
    expect(performance.now() - startedAtMs).toBeLessThan(atMostMs(3_000));
  });

  it.each<[string, Parameters<typeof answerShortLinks>[1]]>([
    ['says nothing', () => new Promise(() => undefined)],
    ['fails', () => Promise.reject(new Error('a planted failure'))],
    ['says what makes no sense', () => Promise.resolve({ outcome: 'found' } as ShortLinkAnswer)],
  ])('is not answered where the worker %s', async (_what, answer) => {
    await answerLinks(answer);
    expect(await client(200).lookUp(link)).toEqual({ outcome: 'no_answer' });
  });

  it('asks the platform once for a link that is known, again for one that was not resolved, and not for too many at a time', async () => {
    const asked: string[] = [];
    const waiting: (() => void)[] = [];
    const answer = createShortLinkAnswerer({
      resolve: async (url) => {
        asked.push(url);
        if (url.endsWith('slow')) await new Promise<void>((resolve) => waiting.push(resolve));
        if (url.endsWith('lost')) return { ok: false, passing: false, detail: 'planted' };
        if (url.endsWith('busy')) return { ok: false, passing: true, detail: 'planted' };
        return { ok: true, url: `${url}/item` };
      },
      logger: pino({ level: 'silent' }),
      maxConcurrent: 1,
    });
    expect(await answer('a')).toEqual({ outcome: 'found', url: 'a/item' });
    expect(await answer('a')).toEqual({ outcome: 'found', url: 'a/item' });
    expect([await answer('lost'), await answer('lost')]).toEqual([
      { outcome: 'unresolved' },
      { outcome: 'unresolved' },
    ]);
    expect([await answer('busy'), await answer('busy')]).toEqual([
      { outcome: 'platform_failed' },
      { outcome: 'platform_failed' },
    ]);
    const slow = answer('slow');
    expect(await answer('b')).toEqual({ outcome: 'no_answer' });
    for (const goOn of waiting) goOn();
    expect(await slow).toEqual({ outcome: 'found', url: 'slow/item' });
    expect(await answer('b')).toEqual({ outcome: 'found', url: 'b/item' });
    expect(asked).toEqual(['a', 'lost', 'lost', 'busy', 'busy', 'slow', 'b']);
  });
});

describe('progress', () => {
  const half = { percent: 50, bytesPerSecond: 1000, etaSeconds: 3 };

  it('is known to whoever follows, and the last word counts', async () => {
    const latest = followProgress(api);
    await api.flush();
    const reporter = createProgressReporter(worker);
    reporter.report('TokenOfDownload-0001', { percent: 10, bytesPerSecond: null, etaSeconds: null });
    reporter.report('TokenOfDownload-0001', half);
    reporter.report('TokenOfDownload-0002', { ...half, percent: null });
    await waitFor(() => latest('TokenOfDownload-0002'), { what: 'the progress' });
    expect(latest('TokenOfDownload-0001')).toEqual(half);
    expect(latest('TokenOfDownload-0003')).toBeUndefined();
  });

  it('that makes no sense is not believed', async () => {
    const latest = followProgress(api);
    await api.flush();
    for (const nonsense of ['not JSON', '{}', JSON.stringify({ ...half, percent: 101 })])
      worker.publish('progress.TokenOfDownload-0004', nonsense);
    createProgressReporter(worker).report('TokenOfDownload-0005', half);
    await waitFor(() => latest('TokenOfDownload-0005'), { what: 'the progress after the nonsense' });
    expect(latest('TokenOfDownload-0004')).toBeUndefined();
  });

  it('can still be reported when the connection is closed: nothing happens', async () => {
    const closed = await connectTo(server.url);
    const reporter = createProgressReporter(closed);
    await closed.close();
    expect(() => reporter.report('TokenOfDownload-0006', half)).not.toThrow();
  });
});
