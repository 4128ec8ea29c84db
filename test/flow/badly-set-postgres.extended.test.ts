import { afterAll, beforeAll, expect, it } from 'vitest';
import { within } from '../cli/command-line.ts';
import { createBadlySetDatabase } from '../support/badly-set-database.ts';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { planFile } from '../support/plans.ts';
import type { TestDatabase } from '../support/postgres.ts';
import { readiness } from '../support/readiness.ts';
import { type Service, startService } from '../support/service.ts';

/** A role and a database of Postgres with other settings than the usual ones change nothing of what the service does. */
interface Periods {
  periods: { period_start: string }[];
}

let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createBadlySetDatabase();
  service = await startService({
    DATABASE_URL: database.url,
    PLANS_FILE: planFile({ fee_cents: 500, downloads_limit: 5, overage_cents: 5, hourly_limit: 10_000 }),
  });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database.drop();
});

it('the service works under load, and its reports, invoices and audit are right', async () => {
  const account = await service.openAccount('test');
  const downloads = Array.from({ length: 6 }, async (_, client) => {
    for (let turn = 0; turn < 3; turn += 1) {
      const idempotency = { 'Idempotency-Key': `download-${String(client)}-${String(turn)}` };
      const asked = { ...account, body: { url: service.sampleUrl('bars') }, headers: idempotency };
      const [{ status, data }, again] = await Promise.all([
        call(service.url, '/video/download', asked),
        call(service.url, '/video/download', asked),
      ]);
      expect([status, again.status]).toEqual([202, 202]);
      expect(again.data['request_token']).toBe(data['request_token']);
      expect((await call(service.url, '/credits', account)).status).toBe(200);
    }
  });
  await Promise.all(downloads);
  const { request_token: token } = await queue(service.url, account.key, { url: service.sampleUrl('bars') });
  expect(await ended(service.url, account.key, token)).toMatchObject({ status: 'done' });
  expect((await call(service.url, '/credits', account)).data).toMatchObject({ downloads: { used: 5 } });
  expect(await readiness(service.url)).toMatchObject({ postgres: 'ok' });

  const run = within({ REELTALLY_DATA: service.dataDirectory });
  const told = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}: ${stderr}`);
    return stdout;
  };
  const month = new Date().toISOString().slice(0, 7);
  expect(await told('reports', 'month', '--period', month)).toContain(month);
  await told('reports', 'month', '--period', month, '--account', account.accountId);
  expect(await told('invoices', 'list', account.accountId)).toContain('5.00');
  await told('invoices', 'show', account.accountId, '1', '--charges');
  expect(await told('accounts', 'usage', account.accountId)).toContain('0.70');
  await told('accounts', 'show', account.accountId);
  expect(await told('keys', 'list', account.accountId)).toContain(account.keyId);
  expect(await told('ledger', 'show', account.accountId)).toContain('0.05');
  const { periods } = JSON.parse(await told('accounts', 'usage', account.accountId, '--json')) as Periods;
  await told('ledger', 'export', '--account', account.accountId, '--period', periods[0]!.period_start.slice(0, 10));
  expect(await told('jobs', 'timeline', token)).toContain('JobCompleted');
  await told('projections', 'rebuild', 'all');
  await told('ledger', 'verify');
  await told('ledger', 'verify', '--account', account.accountId);
  expect(service.log()).toBe('');
});
