import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noDownloads } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { startInstallation } from '../support/installation.ts';
import { withClient } from '../support/postgres.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { httpStatus: response.status, ...((await response.json()) as { postgres: string }) };
};
const until = (url: string, postgres: string) =>
  waitFor(async () => (await readiness(url)).postgres === postgres, { what: `Postgres to be ${postgres}` });

it('a service whose Postgres takes no changes says so, refuses every request, and goes on by itself afterwards', async () => {
  await using service = await startService(noDownloads);
  const account = await service.openAccount('dev_100');
  const ask = () => call(service.url, '/credits', account);
  expect((await ask()).status).toBe(200);
  const { databaseUrl } = JSON.parse(readFileSync(join(service.dataDirectory, 'instance.json'), 'utf8')) as {
    databaseUrl: string;
  };
  const setReadOnly = (value: string) =>
    withClient(databaseUrl, async (client) => {
      await client.query(`alter system set default_transaction_read_only = ${value}`);
      await client.query('select pg_reload_conf()');
    });

  await setReadOnly('on');
  await until(service.url, 'it takes no changes: default_transaction_read_only is on');
  expect(await readiness(service.url)).toMatchObject({ httpStatus: 503 });
  expect(await ask()).toMatchObject({ status: 503, code: 'unavailable' });

  await setReadOnly('off');
  await until(service.url, 'ok');
  expect((await ask()).status).toBe(200);
  expect(await service.cli('ledger', 'verify')).toMatchObject({ verdict: 'verified' });
});

it('a service whose Postgres has become a standby says so, and goes on with it once it is promoted', async () => {
  await using pair = await startPostgresPair();
  await using proxy = await startPostgresProxy(pair.primaryUrl);
  await using installation = await startInstallation({ DATABASE_URL: proxy.url });
  const [api] = await Promise.all([installation.startRole('api'), installation.startRole('projector')]);
  const account = await installation.openAccount('dev_100');
  const ask = () => call(api.url, '/credits', account);
  expect((await ask()).status).toBe(200);
  await pair.isFollowed();

  proxy.leadTo(pair.standbyUrl);
  await until(api.url, 'it is a standby, which takes no changes');
  expect(await ask()).toMatchObject({ status: 503, code: 'unavailable' });
  await expect(installation.cli(['accounts', 'list'])).rejects.toThrow('it is a standby, which takes no changes');

  await pair.failOver();
  await until(api.url, 'ok');
  await waitFor(async () => (await ask()).status === 200, { what: 'an answer of the promoted standby' });
  expect(await installation.cli(['ledger', 'verify'])).toMatchObject({ verdict: 'verified' });
});
