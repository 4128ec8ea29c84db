import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const installation = installationOfFile();
let proxy: PostgresProxy;
let url: string;
let key: string;

beforeAll(async () => {
  await installation.startRole('projector');
  await installation.startRole('worker');
  proxy = await startPostgresProxy(installation.environment.DATABASE_URL);
  url = (await installation.startRole('api', { DATABASE_URL: proxy.url })).url;
  ({ key } = await installation.openAccount('dev_100'));
  // The first request opens the connection, which takes round trips of its own.
  await call(url, '/credits', { key });
});

afterAll(() => proxy[Symbol.asyncDispose]());

/** How often the API waited for Postgres to answer one request. */
async function roundTripsOf(
  path: string,
  asked: { body?: object; headers?: Record<string, string> } = {},
): Promise<{ answer: Answer; trips: number }> {
  const before = proxy.roundTrips();
  const answer = await call(url, path, { key, ...asked });
  return { answer, trips: proxy.roundTrips() - before };
}

describe('round trips to Postgres', () => {
  it('are one for each request of the hot paths, whatever its outcome', async () => {
    const film = installation.sampleUrl('bars');
    const queued = await roundTripsOf('/video/download', { body: { url: film } });
    const token = String(queued.answer.data['request_token']);
    const keyed = { body: { url: film }, headers: { 'Idempotency-Key': 'order-1' } };
    const seen = {
      download: queued,
      'download with a key': await roundTripsOf('/video/download', keyed),
      'the same again': await roundTripsOf('/video/download', keyed),
      poll: await roundTripsOf(`/video/status?token=${token}`),
      'poll of nothing': await roundTripsOf('/video/status?token=nothing'),
      credits: await roundTripsOf('/credits'),
      metadata: await roundTripsOf(`/video/metadata?url=${encodeURIComponent(film)}`),
      'bad input': await roundTripsOf('/video/download', { body: {} }),
    };
    const told = Object.entries(seen).map(([name, { answer, trips }]) => [name, answer.status, trips]);
    expect(told).toEqual([
      ['download', 202, 1],
      ['download with a key', 202, 1],
      ['the same again', 202, 1],
      ['poll', 200, 1],
      ['poll of nothing', 404, 1],
      ['credits', 200, 1],
      ['metadata', 200, 1],
      ['bad input', 400, 1],
    ]);
  });

  it('are one for requests that come together', async () => {
    const before = proxy.roundTrips();
    const many = Array.from({ length: 20 }, () => call(url, '/credits', { key }));
    await Promise.all(many);
    expect(proxy.roundTrips() - before).toBeLessThan(many.length);
  });

  it('are none for a request without a key, and none of a process that nobody asks', async () => {
    const before = proxy.roundTrips();
    expect((await call(url, '/credits')).status).toBe(401);
    expect(proxy.roundTrips() - before).toBe(0);
  });

  it('are two or more only where a key is issued: it is shown once it is seen to be in force', async () => {
    const { answer, trips } = await roundTripsOf('/auth/key', { body: { label: 'another' } });
    expect(answer.status).toBe(201);
    expect(trips).toBeGreaterThanOrEqual(2);
    await waitFor(async () => (await call(url, '/credits', { key: String(answer.data['key']) })).status === 200, {
      what: 'the new key to work',
    });
  });
});
