import { describe, expect, it } from 'vitest';
import { runSql } from '../../http/engines-behind.ts';
import { jsonLines } from '../../support/log-lines.ts';
import { spawnCommand } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { against, expectText, saidBy } from '../command-line.ts';
import { chargedAccount, chargingService } from './charging-service.ts';

const service = chargingService();
const run = against(service);

const usedAccount = async () => (await chargedAccount(service, 2)).accountId;

interface Verdict {
  verdict: string;
  divergences: { account_id: string; divergences: { id: string; stream: string; field: string }[] }[];
}

/** The newest charge of an account. */
const last = 'account_id = $1 and revision = (select max(revision) from overage_ledger where account_id = $1)';

describe('ledger verify', () => {
  it('says that everything agrees, also while downloads are under way', async () => {
    await using _worker = await service.startRole('worker', { MIN_FREE_DISK_MIB: '0' });
    const accountId = await usedAccount();
    const all = await run('ledger', 'verify', '--json');
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(all.stdout)).toMatchObject({
      verdict: 'verified',
      position: expect.stringMatching(/^\d+$/) as unknown,
    });
    const one = await run('ledger', 'verify', '--account', accountId, '--json');
    expect(JSON.parse(one.stdout)).toMatchObject({ verdict: 'verified', accounts: 1 });
    const { period_start: start } = await service.cli<{ period_start: string }>('accounts', 'show', accountId);
    expectText(
      await run('ledger', 'verify', '--account', accountId, '--period', start.slice(0, 10)),
      /^Verified: \d+ events of 1 accounts, up to position \d+\. Log, ledger and invoices agree\.\n$/,
    );
  });

  it.each([
    ['another amount', `update overage_ledger set cents = 24 where ${last}`, 'overage_ledger.cents', 'overage_ledger'],
    ['a row too few', `delete from overage_ledger where ${last}`, 'overage_ledger', 'overage_ledger'],
    [
      'another head',
      `update account_heads set last_hash = 'f' where account_id = $1`,
      'account_heads.last_hash',
      'api_keys',
    ],
  ])('names %s, until it is rebuilt', async (_what, damage, field, projection) => {
    const accountId = await usedAccount();
    expect((await run('ledger', 'verify', '--account', accountId)).code).toBe(0);
    expect(await runSql(service, damage, [accountId])).toBe(1);
    const ran = await run('ledger', 'verify', '--account', accountId, '--json');
    expect(ran.code).toBe(1);
    const { verdict, divergences } = JSON.parse(ran.stdout) as Verdict;
    const [of] = divergences;
    expect({ verdict, accounts: divergences.length, account_id: of?.account_id, of: of?.divergences }).toMatchObject({
      verdict: 'divergences',
      accounts: 1,
      account_id: accountId,
      of: [{ id: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown, known: false, field }],
    });
    expect(of?.divergences[0]?.stream).toContain(accountId);
    expect(saidBy(ran)).toMatch(/^reeltally: 1 new divergence; the first: event \d+ of .*\n$/);
    await run('projections', 'rebuild', projection);
  });

  it('names a balance that was changed, for people', async () => {
    const accountId = await usedAccount();
    expect((await run('ledger', 'verify', '--account', accountId)).code).toBe(0);
    await runSql(service, 'update credits set overage_cents = 0 where account_id = $1', [accountId]);
    const text = await run('ledger', 'verify');
    expect(text.code).toBe(1);
    const named = ['id +[0-9a-f]{16}', 'known +no', 'rule +row_differs', 'stream +\\S+', 'revision +\\d+'];
    const values = ['field +credits.overage_cents', 'expected +50', 'found +0'];
    const head = `${accountId}: 1 new, 0 known\n`;
    expect(text.stdout).toMatch(new RegExp(`^${[head, ...named, ...values].join('\n')}\n$`));
    await runSql(service, 'update credits set overage_cents = 50 where account_id = $1', [accountId]);
    expect((await run('ledger', 'verify')).code).toBe(0);
  });

  it('knows a divergence that was acknowledged, and no other', async () => {
    const accountId = await usedAccount();
    const verify = async () => {
      const ran = await run('ledger', 'verify', '--account', accountId, '--json');
      return { code: ran.code, stderr: ran.stderr, ...(JSON.parse(ran.stdout) as Verdict) };
    };
    expect((await verify()).code).toBe(0);
    await runSql(service, `update jobs set quality = 'forged' where account_id = $1`, [accountId]);
    const before = await verify();
    const [first, second, third] = before.divergences[0]?.divergences ?? [];
    expect({ code: before.code, field: first?.field }).toEqual({ code: 1, field: 'jobs.quality' });
    const why = ['--reason', 'a drill', '--reference', 'drill-1', '--by', 'maria'];
    const acknowledge = (id = '') => run('ledger', 'acknowledge', id, '--account', accountId, ...why);
    expect(await acknowledge('0123456789abcdef')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no divergence 0123456789abcdef') as unknown,
    });
    for (const { id = '' } of [first, second, third].map((each) => ({ ...each })))
      expect(await acknowledge(id)).toMatchObject({ code: 0 });
    // Given again it changes nothing.
    expect(await acknowledge(first?.id)).toMatchObject({ code: 0 });
    const known = await verify();
    expect(known).toMatchObject({ code: 3, verdict: 'known_divergences', new: 0, known: 3 });
    expect(saidBy(known)).toBe('reeltally: nothing new: all 3 divergences are acknowledged\n');
    await runSql(
      service,
      `update jobs set quality = 'another' where token = (select min(token) from jobs where account_id = $1)`,
      [accountId],
    );
    expect(await verify()).toMatchObject({ code: 1, verdict: 'divergences', new: 1, known: 2 });
    await run('projections', 'rebuild', 'usage_and_jobs');
    expect((await verify()).code).toBe(0);
  });

  it('names a table that was dropped, as /readyz does, until a rebuild has made it', async () => {
    const accountId = await usedAccount();
    expect((await run('ledger', 'verify', '--account', accountId)).code).toBe(0);
    const schema = `select from pg_indexes where tablename = 'job_timeline'`;
    const indexes = await runSql(service, schema);
    await runSql(service, 'drop table job_timeline');
    const ran = await run('ledger', 'verify', '--json');
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain('"rule": "table_missing"');
    const ready = async () => {
      const response = await fetch(`${service.url}/readyz`);
      return `${String(response.status)} ${await response.text()}`;
    };
    const missing = 'the table job_timeline is missing: \\"projections rebuild job_timeline\\" makes it';
    await waitFor(async () => (await ready()).includes(missing), { what: '/readyz to say so' });
    expect(await ready()).toMatch(/^503 /);
    expect((await run('projections', 'rebuild', 'job_timeline')).code).toBe(0);
    await waitFor(async () => (await ready()).startsWith('200 '), { what: '/readyz to be well' });
    expect(await runSql(service, schema)).toBe(indexes);
    expect((await run('ledger', 'verify', '--account', accountId)).code).toBe(0);
  });

  it('says that it could not find out', async () => {
    const ran = await run('ledger', 'verify', '--account', 'acc_aaaaaaaaaaaaaaaaaaaa', '--json');
    expect(ran.code).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({ verdict: 'not_verified' });
    expect(saidBy(ran)).toMatch(/^reeltally: it could not be verified: there is no account acc_/);
  });

  it('goes on with the log when it watches', async () => {
    const child = spawnCommand(['ledger', 'verify', '--watch', '--json'], { REELTALLY_DATA: service.dataDirectory });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const events = () => jsonLines<{ events: number }>(printed).map((verdict) => verdict.events);
    await waitFor(() => events().length > 0, { what: 'a first verdict' });
    const [before = 0] = events();
    await usedAccount();
    await waitFor(() => (events().at(-1) ?? 0) >= before + 8, {
      what: 'a verdict about what came since',
    });
    child.kill();
    expect(printed).not.toMatch(/"verdict":"(?!verified)\w+"/);
  });
});
