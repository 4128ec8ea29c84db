import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Browser } from '../browser.ts';
import { addPeriods, madeUpAccount } from './made-up-periods.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();
const { installation } = service;
const sql: typeof service.sql = (...given) => service.sql(...given);

let finance: Browser;
let accountId: string;
let bearer: string;

const shownAccounts = (text: string) =>
  [...text.matchAll(/data-row href="\/staff\/overage\/(acc_\w+)\//g)].map(([, id]) => id ?? '');
const numberOf = (id: string) => Number(id.slice(4));

interface Shown {
  month: string;
  rows: {
    account_id: string;
    charges: number;
    charged_cents: number;
    waived_cents: number;
    difference_cents: number;
  }[];
  next: string | null;
  months: { month: string; periods: number; charged_cents: number }[];
}

const json = async (query: string, token = bearer) => {
  const answer = await fetch(`${service.staffUrl}/staff/v1/overage?${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, ...((await answer.json()) as { data: Shown; error?: { message: string } }) };
};

beforeAll(async () => {
  accountId = await service.openAccount('overage@example.com', 'dev_100');
  await installation.cli(['accounts', 'terms', accountId, '--downloads', '1', '--hourly', '500']);
  const { key } = await installation.cli<{ key: string }>(['keys', 'issue', accountId]);
  const tokens: string[] = [];
  for (let at = 0; at < 4; at += 1)
    tokens.push((await queue(service.api.url, key, { url: installation.sampleUrl('bars') })).request_token);
  const waive = ['ledger', 'waive', tokens[3] ?? '', '--reference', 'case-1', '--reason', 'a test', '--by', 'a test'];
  await waitFor(async () => (await sql('select from jobs where account_id = $1', [accountId])).length === 4, {
    what: 'the downloads',
  });
  await installation.cli(waive);
  await waitFor(
    async () =>
      (await sql('select from period_money where account_id = $1 and waived_cents > 0', [accountId])).length === 1,
    { what: 'the waiver' },
  );
  finance = await service.signedInAs('finance');
  const { staffId } = await service.invite('support');
  bearer = (await service.issueToken(staffId, ['money'])).token;
  await addPeriods(sql, '2020-03', 450);
  await addPeriods(sql, '2020-04', 3);
});

describe('the table', () => {
  it('of the newest month has what its events add up to, and leads to them', async () => {
    const { data } = await json('');
    const rate = (data.rows[0]?.charged_cents ?? 0) / 3;
    expect(rate).toBeGreaterThan(0);
    expect(data.month).toBe(new Date().toISOString().slice(0, 7));
    expect(data.rows).toMatchObject([
      { account_id: accountId, charges: 3, charged_cents: 3 * rate, waived_cents: rate, difference_cents: 2 * rate },
    ]);
    const page = await finance.get('/staff/overage');
    expect(page.status).toBe(200);
    expect(shownAccounts(page.text)).toEqual([accountId]);
    expect(page.text).toContain(`$${((rate * 3) / 100).toFixed(2)}</a>`);
    expect(page.text).toContain(
      `/staff/overage/${accountId}/${new Date().toISOString().slice(0, 10)}?only=corrections`,
    );
  });

  it.each(['account', 'charges', 'charged'])('is sorted by %s both ways, 200 rows a page', async (sort) => {
    for (const order of ['asc', 'desc']) {
      const seen: number[] = [];
      let path: string | undefined = `/staff/overage?month=2020-03&sort=${sort}&order=${order}`;
      const sizes: number[] = [];
      while (path !== undefined) {
        const { text }: { text: string } = await finance.get(path);
        const accounts = shownAccounts(text);
        sizes.push(accounts.length);
        seen.push(...accounts.map(numberOf));
        path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      }
      const all = Array.from({ length: 450 }, (_, index) => index + 1);
      expect(seen).toEqual(order === 'asc' ? all : all.reverse());
      expect(sizes).toEqual([200, 200, 50]);
    }
  });

  it('keeps what it is filtered by', async () => {
    expect((await json('month=2020-04')).data.rows).toHaveLength(3);
    expect((await json('month=2020-04&difference=yes')).data.rows.map(({ charges }) => charges)).toEqual([3]);
    expect((await json('month=2020-04&phase=open')).data.rows).toEqual([]);
    expect((await json(`account=${madeUpAccount(1)}`)).data.rows.map(({ charges }) => charges)).toEqual([1, 1]);
    expect((await finance.get('/staff/overage?month=2020-04&phase=open')).text).toContain('No account matches');
    // A form sends what was left empty.
    expect((await finance.get('/staff/overage?month=2020-04&account=&phase=')).status).toBe(200);
  });

  it('tells the sums of the month from those of the rows that are shown', async () => {
    const text = async (query: string) =>
      (await finance.get(`/staff/overage?${query}`)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    const filtered = await text(`month=2020-04&account=${madeUpAccount(2)}`);
    expect(filtered).toMatch(/All 3 accounts of 2020-04, whatever the table below is filtered by: Charged \$1\.50/);
    expect(filtered).toMatch(/All 1 2 \$0\.50 /);
    expect(await text('month=2020-03')).toMatch(/This page: 200 /);
  });

  it('has the sums of every month, whatever it shows', async () => {
    const { months } = (await json('month=2020-04&phase=open')).data;
    expect(months.slice(-2)).toMatchObject([
      { month: '2020-04', periods: 3, charged_cents: 150 },
      { month: '2020-03', periods: 450, charged_cents: (450 * 451 * 25) / 2 },
    ]);
  });

  it.each(['month=2020-13', 'sort=colour', 'account=acme', 'after=nothing', 'after=1~2~3', 'phase=shut'])(
    'refuses %s',
    async (query) => {
      expect((await finance.get(`/staff/overage?${query}`)).status).toBe(400);
      expect((await json(query)).status).toBe(400);
      if (!query.startsWith('after')) expect((await finance.get(`/staff/overage.csv?${query}`)).status).toBe(400);
    },
  );

  it('is for nobody without a session, and for no token without the scope', async () => {
    const { staffId } = await service.invite('admin');
    const { token } = await service.issueToken(staffId, ['jobs']);
    expect((await json('', token)).status).toBe(403);
    const answer = await fetch(`${service.staffUrl}/staff/overage.csv`, { redirect: 'manual' });
    expect(answer.status).toBe(303);
  });
});

describe('an export', () => {
  it('has all rows of the table, in its order, and nothing else', async () => {
    const query = 'month=2020-03&sort=charged&order=desc';
    const csv = await finance.get(`/staff/overage.csv?${query}`);
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="overage-2020-03.csv"',
      'transfer-encoding': 'chunked',
    });
    const [head, ...lines] = csv.text.trimEnd().split('\n');
    expect(head).toBe(
      'account_id,customer,period_start,month,plan,phase,charges,charged_cents,voided_cents,waived_cents,credited_overage_cents,invoiced_overage_cents,difference_cents,stream',
    );
    expect(lines.map((line) => numberOf(line.split(',')[0] ?? ''))).toEqual(
      Array.from({ length: 450 }, (_, at) => 450 - at),
    );
    const file = JSON.parse((await finance.get(`/staff/overage.json?${query}`)).text) as {
      of: string;
      month: string;
      rows: { charges: number }[];
      count: number;
    };
    expect({ ...file, rows: file.rows.map(({ charges }) => charges) }).toEqual({
      of: 'overage',
      month: '2020-03',
      sort: 'charged',
      order: 'desc',
      count: 450,
      rows: Array.from({ length: 450 }, (_, at) => 450 - at),
    });
    expect((await finance.get('/staff/overage.json?month=2020-04&phase=open')).text).toContain(
      '"rows":[\n],"count":0}',
    );
    const all = await finance.get('/staff/overage.csv?month=all&sort=account&order=asc');
    expect(all.text.trimEnd().split('\n')).toHaveLength(1 + 450 + 3 + 1);
  });

  it('makes text harmless that a spreadsheet would take for a formula, and leaves amounts alone', async () => {
    await sql(
      "update period_money set plan = '=2+5', waived_cents = 100, difference_cents = -100 where month = '2020-04' and charges = 1",
    );
    const { text } = await finance.get('/staff/overage.csv?month=2020-04&sort=charged&order=asc');
    expect(text).toContain("2020-04,'=2+5,closed,1,25,0,100,0,25,-100,");
  });

  it('that breaks off is cut, and says so: it has no end', async () => {
    await addPeriods(sql, '2019-01', 60_000);
    for (const form of ['csv', 'json']) {
      const outcome = await cutOff(`/staff/overage.${form}?month=2019-01`);
      expect(outcome).toMatchObject({ status: 200, isComplete: false });
      expect(outcome.text.length).toBeGreaterThan(1_000);
      if (form === 'json') expect(() => JSON.parse(outcome.text) as unknown).toThrow();
    }
    // Nothing holds a connection any more, and others can be made.
    await waitFor(async () => (await exporting()).length === 0, { what: 'the connections to be free' });
    expect((await finance.get('/staff/overage.csv?month=2020-04')).status).toBe(200);
  });

  it('that nobody reads any more ends, and at most two are made at a time', async () => {
    const [one, two] = [
      await begin('/staff/overage.csv?month=2019-01'),
      await begin('/staff/overage.csv?month=2019-01'),
    ];
    const third = await finance.get('/staff/overage.csv?month=2020-04');
    expect([third.status, third.text.includes('Other exports are under way')]).toEqual([503, true]);
    one.destroy();
    two.destroy();
    await waitFor(async () => (await finance.get('/staff/overage.csv?month=2020-04')).status === 200, {
      what: 'another export',
    });
    await waitFor(async () => (await exporting()).length === 0, { what: 'the end of both' });
  });

  it('whose reader leaves while Postgres is at work ends at once, and nothing else waits for it', async () => {
    const waiting = async () =>
      (
        await sql(
          `select from pg_locks where not granted and relation = 'period_money'::regclass and mode = 'AccessShareLock'`,
        )
      ).length;
    const path = '/staff/overage.csv?month=2019-01';
    await sql('begin');
    try {
      await sql('lock table period_money in access exclusive mode');
      const asked = [askFor(path), askFor(path)];
      await waitFor(async () => (await waiting()) === 2, { what: 'two exports at work' });
      expect((await finance.get('/staff/operation/notices')).status).toBe(200);
      expect((await finance.get(path)).status).toBe(503);
      for (const one of asked) one.destroy();
      await waitFor(async () => (await waiting()) === 0, { what: 'both to end', timeoutMs: 5_000 });
    } finally {
      await sql('rollback');
    }
    expect((await finance.get('/staff/overage.csv?month=2020-04')).status).toBe(200);
  });
});

/** The connections of exports between two of their reads. */
const betweenReads =
  "pg_stat_activity where state like 'idle in transaction%' and query like 'fetch%' and datname = current_database()";
const exporting = () => sql(`select from ${betweenReads}`);
const cutExports = () => sql(`select pg_terminate_backend(pid) from ${betweenReads}`);

function askFor(path: string): ClientRequest {
  const cookie = [...finance.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return get(service.staffUrl + path, { agent: false, headers: { cookie } }).on('error', () => undefined);
}

/** Begins an export and reads nothing but its head. */
async function begin(path: string): Promise<IncomingMessage> {
  const [answer] = (await once(askFor(path), 'response')) as [IncomingMessage];
  return answer;
}

/** Reads an export whose connection to Postgres is lost after its beginning. */
async function cutOff(path: string) {
  const answer = await begin(path);
  let text = '';
  let [isLost, isCut] = [false, false];
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    // The service keeps what is not read yet.
    if (!isLost && text.length > 1_000) answer.pause();
  });
  const closed = new Promise<void>((resolve) => {
    answer.on('error', () => (isCut = true));
    answer.on('close', resolve);
  });
  await waitFor(() => text.length > 1_000, { what: 'the beginning of the export' });
  await waitFor(async () => (await cutExports()).length === 1, {
    what: 'the export to wait',
  });
  isLost = true;
  answer.resume();
  await closed;
  return { status: answer.statusCode, isComplete: answer.complete && !isCut, text };
}
