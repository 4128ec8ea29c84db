import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countEvents, runSql } from '../http/engines-behind.ts';
import { noDownloads } from '../http/shared-service.ts';
import { type Answer, call } from '../support/client.ts';
import { planFile } from '../support/plans.ts';
import { readMetric } from '../support/scraped-metrics.ts';
import { type Service, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Somebody who can write to Postgres, and a service that decides by what it has written itself. */
const first = 'the first secret of this installation';
const second = 'the second secret of this installation';
let service: Service;

beforeAll(async () => {
  const plans = planFile({ downloads_limit: 2, overage_cents: null });
  service = await startService(
    { ...noDownloads, REELTALLY_SECRET: first, PLANS_FILE: plans },
    { postgres: 'of the run' },
  );
});

afterAll(() => service[Symbol.asyncDispose]());

const download = (key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(service.url, '/video/download', { key, body: { url: service.sampleUrl('private') }, headers });

const linesAbout = (name: string) =>
  service
    .log()
    .split('\n')
    .filter((line) => line.includes('is not believed') && line.includes(name));

const countOf = async (table: string): Promise<number> =>
  (await readMetric(service.url, 'reeltally_rows_not_believed_total', { table })) ?? NaN;

async function usedUp() {
  const account = await service.openAccount('test');
  for (let taken = 0; taken < 2; taken += 1) expect((await download(account.key)).status).toBe(202);
  const { accountId } = account;
  await waitFor(
    async () =>
      (await runSql(service, 'select from credits where account_id = $1 and revision = 4', [accountId])) === 1,
    { what: 'the row' },
  );
  return account;
}

describe('a forged balance', () => {
  test('gives nothing away and is not shown; it is said once, counted, and mended with the next event', async () => {
    const { accountId, key } = await usedUp();
    const counted = await countOf('credits');
    const forgery = 'update credits set downloads = 0, download_credits = 0 where account_id = $1';
    expect(await runSql(service, forgery, [accountId])).toBe(1);
    const before = await countEvents(service, `usage-${accountId}`);
    for (let time = 0; time < 3; time += 1) {
      expect(await download(key)).toMatchObject({ status: 402, code: 'download_quota_exceeded' });
      const { data, headers } = await call(service.url, '/credits', { key });
      expect(data['downloads']).toEqual({ limit: 2, used: 2, remaining: 0 });
      expect(headers.get('x-credits-remaining')).toBe('0');
    }
    const shown = await service.cli<{ downloads: object }>('accounts', 'show', accountId);
    expect(shown.downloads).toEqual({ limit: 2, used: 2, remaining: 0 });
    const { periods } = await service.cli<{ periods: object[] }>('accounts', 'usage', accountId);
    expect(periods).toMatchObject([{ downloads: { accepted: 2, credits: { used: 2, limit: 2 } } }]);
    expect(await countEvents(service, `usage-${accountId}`)).toBe(before);
    expect(linesAbout(accountId)).toHaveLength(1);
    expect(await countOf('credits')).toBeGreaterThan(counted);
    await service.cli('accounts', 'cap', accountId, '100');
    const mended = 'select from credits where account_id = $1 and downloads = 2 and download_credits = 2';
    await waitFor(async () => (await runSql(service, mended, [accountId])) === 1, { what: 'the row to be mended' });
    expect((await call(service.url, '/credits', { key })).data['downloads']).toMatchObject({ used: 2 });
  });

  test('in a period of which the name was forged too changes nothing', async () => {
    const { accountId, key } = await usedUp();
    const other = await usedUp();
    await runSql(
      service,
      "update credits set stream = replace(stream, '-20', '-21'), download_credits = 0 where account_id = $1",
      [accountId],
    );
    expect(await download(key)).toMatchObject({ status: 402 });
    expect((await call(service.url, '/credits', { key })).data['downloads']).toMatchObject({ used: 2 });
    await service.cli('accounts', 'cap', accountId, '100');
    const mended = "select from credits where account_id = $1 and stream ~ '-20\\d{6}$' and download_credits = 2";
    await waitFor(async () => (await runSql(service, mended, [accountId])) === 1, { what: 'the row to be mended' });
    expect((await call(service.url, '/credits', { key: other.key })).status).toBe(200);
  });
});

test('a key that was given to another account is nobody: 503, and nobody pays', async () => {
  const [mine, other] = [await service.openAccount('test'), await service.openAccount('test')];
  const before = await countEvents(service, 'usage-');
  const move = 'update api_key_window set account_id = $1 where key_id = $2';
  await runSql(service, move, [other.accountId, mine.keyId]);
  for (let time = 0; time < 3; time += 1) {
    expect(await download(mine.key)).toMatchObject({ status: 503, code: 'unavailable' });
    expect(await call(service.url, '/credits', { key: mine.key })).toMatchObject({ status: 503 });
  }
  expect(await countEvents(service, 'usage-')).toBe(before);
  expect(linesAbout(mine.keyId)).toHaveLength(1);
  expect(await countOf('api_key_window')).toBeGreaterThanOrEqual(6);
  await runSql(service, move, [mine.accountId, mine.keyId]);
  expect((await download(mine.key)).status).toBe(202);
});

test('an idempotency key whose row was changed is answered 502, and charges nothing', async () => {
  const { accountId, key } = await service.openAccount('test');
  expect((await download(key, { 'Idempotency-Key': 'order-1' })).status).toBe(202);
  const forgery = 'update idempotency_keys set voided = true where account_id = $1';
  await waitFor(async () => (await runSql(service, forgery, [accountId])) === 1, { what: 'the row' });
  const before = await countEvents(service, 'usage-');
  const repeated = await download(key, { 'Idempotency-Key': 'order-1' });
  expect(repeated).toMatchObject({ status: 502, code: 'enqueue_failed' });
  expect(await countEvents(service, 'usage-')).toBe(before);
  expect((await download(key, { 'Idempotency-Key': 'order-2' })).status).toBe(202);
  expect(await countOf('idempotency_keys')).toBe(1);
});

/** Names of the read models that the service has signed with its secret of now. */
const madeAnew = (running: Service): string[] =>
  running
    .log()
    .split('\n')
    .filter((line) => line.includes('is made anew: its rows carry MACs'))
    .map((line) => (JSON.parse(line) as { projection: string }).projection);

test('rows outlive a change of the secret, and are made anew once the old one is not named any more', async () => {
  const { accountId, key } = await usedUp();
  const expectCredits = async (running: Service) => {
    const answered = await waitFor(
      async () => {
        const answer = await call(running.url, '/credits', { key });
        return answer.status === 200 && answer;
      },
      { what: 'credits' },
    );
    expect(answered.data['downloads']).toMatchObject({ used: 2 });
  };
  const emailOf = async (running: Service) =>
    (await running.cli<{ email: string }>('accounts', 'show', accountId)).email;
  const email = await emailOf(service);
  await service.stop();
  const rotated = await service.restart({ REELTALLY_SECRET: second, REELTALLY_OLD_SECRETS: first });
  await expectCredits(rotated);
  expect(rotated.log()).not.toContain('is not believed');
  await waitFor(async () => (await readMetric(rotated.url, 'reeltally_personal_keys_of_other_secrets')) === 0, {
    what: 'all keys of personal data to be wrapped with the new secret',
  });
  await rotated.stop();
  const later = await service.restart({ REELTALLY_SECRET: second });
  await expectCredits(later);
  for (const name of ['usage_and_jobs', 'api_keys', 'people', 'staff'])
    await waitFor(() => madeAnew(later).includes(name), { what: `the read model ${name}` });
  expect(await runSql(later, 'select from credits where account_id = $1', [accountId])).toBe(1);
  expect(await emailOf(later)).toBe(email);
  expect(await runSql(later, "select from credits where mac is null or mac not like $1 || '.%'", ['%'])).toBe(0);
  await later.stop();
});

test('a key of personal data that was changed hides the names of its account, and stops nobody else', async () => {
  const started = await service.restart({ REELTALLY_SECRET: second });
  const [hidden, other] = [await started.openAccount('test'), await started.openAccount('test')];
  const { email } = await started.cli<{ email: string }>('accounts', 'show', hidden.accountId);
  const turn = `update personal_keys set wrapped = reverse(wrapped) where subject = $1`;
  expect(await runSql(started, turn, [hidden.accountId])).toBe(1);
  await started.stop();
  const again = await service.restart({ REELTALLY_SECRET: second });
  await waitFor(async () => (await readMetric(again.url, 'reeltally_personal_keys_of_other_secrets')) === 1, {
    what: 'the key to be counted',
  });
  for (const { key } of [hidden, other]) expect((await call(again.url, '/credits', { key })).status).toBe(200);
  await again.cli('accounts', 'cap', hidden.accountId, '100');
  expect(await again.cli('accounts', 'show', other.accountId)).toHaveProperty('email');
  await runSql(again, turn, [hidden.accountId]);
  expect(await again.cli('accounts', 'show', hidden.accountId)).toMatchObject({ email });
  await again.stop();
});
