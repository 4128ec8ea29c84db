import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { downloadsOf } from './charged-downloads.ts';

/** The log takes an append and does not answer, and Postgres goes too: nothing can be promised, so that nothing is said. */
const installation = installationOfFile();
let postgres: PostgresProxy;
let api: ServiceProcess;
let other: ServiceProcess;

beforeAll(async () => {
  postgres = await startPostgresProxy(installation.environment.DATABASE_URL);
  [api, other] = await Promise.all([
    installation.startRole('api', { DATABASE_URL: postgres.url }),
    installation.startRole('api'),
    installation.startRole('projector'),
  ]);
});

afterAll(async () => {
  installation.wakeEventStore();
  await postgres[Symbol.asyncDispose]();
});

const metric = (...asked: [name: string, labels?: Record<string, string>]) => readMetric(api.url, ...asked);

test('a request whose append is unknown gets no answer, those behind it a clear one, and a repeated key tells what became of it', async () => {
  const { accountId, key } = await installation.openAccount('enterprise');
  const body = { url: installation.sampleUrl('private') };
  const keyed = { key, body, headers: { 'Idempotency-Key': 'order-1' } };
  expect((await call(api.url, '/video/download', { key, body })).status).toBe(202);

  installation.silenceEventStore();
  const first = call(api.url, '/video/download', keyed).catch((error: unknown) => error);
  await waitFor(async () => (await metric('reeltally_appends_open')) === 1, { what: 'the append to be under way' });
  const behind = call(api.url, '/video/download', { key, body });
  const repeated = call(api.url, '/video/download', keyed).catch((error: unknown) => error);
  await waitFor(async () => (await metric('reeltally_admissions_total', { outcome: 'admitted' })) === 4, {
    what: 'all to be let in',
  });
  await postgres[Symbol.asyncDispose]();
  expect(await first).toBeInstanceOf(TypeError);
  expect(await behind).toMatchObject({ status: 502, code: 'enqueue_failed' });
  // It may be charged by the first one, so that "not charged" would not be true.
  expect(await repeated).toBeInstanceOf(TypeError);
  installation.wakeEventStore();

  const told = await waitFor(
    async () => {
      const answer = await call(other.url, '/video/download', keyed);
      return answer.status === 202 && answer;
    },
    { what: 'the repeated request to be answered', pollMs: 250 },
  );
  expect((await call(other.url, '/video/download', keyed)).text).toBe(told.text);
  const downloads = await downloadsOf(installation.environment.EVENTSTORE_URL, accountId);
  expect(downloads.map(({ token }) => token)).toEqual([expect.any(String), told.data['request_token']]);
  expect((await call(other.url, '/credits', { key })).data['downloads']).toMatchObject({ used: 2 });
});
