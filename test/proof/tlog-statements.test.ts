import fastify from 'fastify';
import { expect, it } from 'vitest';
import { signTreeHead } from '../../src/dispatcher/sign-tree-heads.ts';
import { registerTlogRoutes } from '../../src/http/tlog-routes.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { signingOfTest } from './signing.ts';

const log = logUnderTest();

it('asks Postgres once for what many want to know', async () => {
  const signing = await signingOfTest(log.store);
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.invoice()]);
  await signing.models.caughtUp();
  await signTreeHead(signing);
  await signing.models.caughtUp();
  await using proxy = await startPostgresProxy(signing.models.url);
  const pool = openPatientPool(proxy.url, { max: 1 });
  const server = fastify();
  try {
    registerTlogRoutes(server, { pool });
    const ask = async (path: string) => (await server.inject(`/tlog/${path}`)).statusCode;
    expect(await ask('keys')).toBe(200);
    const before = proxy.roundTrips();
    const many = ['checkpoint', 'keys', 'checkpoint', 'keys', 'keys', 'keys'];
    expect(new Set(await Promise.all(many.map(ask)))).toEqual(new Set([200]));
    expect(proxy.roundTrips() - before).toBeLessThanOrEqual(2);
  } finally {
    await server.close();
    await pool.end();
  }
});
