import { beforeAll, describe, expect, it } from 'vitest';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Browser } from '../browser.ts';
import { type StaffMember, staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();
const { installation } = service;

let support: StaffMember;
let browser: Browser;
let accountId: string;
let path: string;
let rateCents: number;
let tokens: string[];

interface Row {
  time: string;
  type: string;
  event_id: string;
  token: string;
  video_id: string;
  ordinal: number | null;
  cents: number;
  running_cents: number | null;
  corrects: string | null;
  reference: string | null;
  actor_type: string;
}

interface Shown {
  period: { charges: number; charged_cents: number; waived_cents: number };
  rows: Row[];
  next: string | null;
}

async function json(query = ''): Promise<Shown> {
  const { token } = await service.issueToken(support.staffId, ['money']);
  const address = `${service.staffUrl}${path.replace('/staff/', '/staff/v1/')}${query}`;
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: Shown }).data;
}

const nextOf = (text: string) => /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');

beforeAll(async () => {
  accountId = await service.openAccount('charges@example.com', 'dev_100');
  await installation.cli(['accounts', 'terms', accountId, '--downloads', '1', '--hourly', '500']);
  const { key } = await installation.cli<{ key: string }>(['keys', 'issue', accountId]);
  tokens = [];
  for (let at = 0; at < 4; at += 1)
    tokens.push((await queue(service.api.url, key, { url: installation.sampleUrl('bars') })).request_token);
  const count = async (table: string, more = '') =>
    (await service.sql(`select from ${table} where account_id = $1 ${more}`, [accountId])).length;
  await waitFor(async () => (await count('jobs')) === 4, { what: 'the downloads' });
  const decision = ['--reference', 'case-7', '--reason', '=a test', '--by', 'somebody'];
  await installation.cli(['ledger', 'waive', tokens[1] ?? '', ...decision]);
  await waitFor(async () => (await count('period_money', 'and waived_cents > 0')) === 1, { what: 'the waiver' });
  const [ledger] = await service.sql<{ day: string; rate: number }>(
    `select to_char(period_start at time zone 'utc', 'YYYY-MM-DD') as day, rate_cents::float8 as rate
     from overage_ledger where account_id = $1 and type = 'OverageCharged' limit 1`,
    [accountId],
  );
  path = `/staff/overage/${accountId}/${ledger?.day ?? ''}`;
  rateCents = ledger?.rate ?? NaN;
  support = await service.invite('support');
  browser = await service.newStaffSession(support);
});

describe('the charges of a period', () => {
  it('stand in the order of the log, with the total after each, and credits are none of them', async () => {
    const { period, rows, next } = await json();
    expect(period).toMatchObject({ charges: 3, charged_cents: 3 * rateCents, waived_cents: rateCents });
    expect(
      rows.map(({ type, token, ordinal, cents, running_cents: running }) => [type, token, ordinal, cents, running]),
    ).toEqual([
      ['OverageCharged', tokens[1], 2, rateCents, rateCents],
      ['OverageCharged', tokens[2], 3, rateCents, 2 * rateCents],
      ['OverageCharged', tokens[3], 4, rateCents, 3 * rateCents],
      ['ChargeWaived', tokens[1], null, -rateCents, 2 * rateCents],
    ]);
    expect(rows[3]).toMatchObject({
      reference: 'case-7',
      corrects: rows[0]?.event_id,
      actor_type: 'staff',
      actor_role: 'operator',
    });
    expect(next).toBeNull();
  });

  it('behind the first page have the total that goes on from it', async () => {
    const text =
      'select position::text from overage_ledger where account_id = $1 and cents > 0 order by position limit 1';
    const [first] = await service.sql<{ position: string }>(text, [accountId]);
    const { rows } = await json(`?after=${first?.position ?? ''}`);
    expect(rows.map((row) => row.running_cents)).toEqual([2 * rateCents, 3 * rateCents, 2 * rateCents]);
  });

  it('lead to the event of each, to its download, and to what it corrects', async () => {
    const { rows } = await json();
    const { status, text } = await browser.get(path);
    expect(status).toBe(200);
    for (const { event_id: id, token } of rows) {
      expect(text).toContain(`<a data-row href="/staff/events/${id}">`);
      expect(text).toContain(`href="/staff/downloads/${token}?at=${id}"`);
    }
    expect(text).toContain('=a test (case-7)');
  });

  it('have a file with every event behind every sum of the period, from the log', async () => {
    const csv = (await browser.get(`${path}/events.csv`)).text.trimEnd().split('\n');
    expect(csv[0]).toBe('sum,amount,type,stream,revision,event_id,time');
    const file = JSON.parse((await browser.get(`${path}/events.json`)).text) as {
      period: { charged_cents: number };
      rows: { sum: string; amount: number; type: string; stream: string; revision: number; event_id: string }[];
    };
    const sumOf = (name: string) =>
      file.rows.reduce((sum, { sum: of, amount }) => (of === name ? sum + amount : sum), 0);
    const fee = file.rows.find(({ sum }) => sum === 'fee_cents');
    expect(fee).toMatchObject({ type: 'UsagePeriodOpened', revision: 0 });
    expect([sumOf('charges'), sumOf('charged_cents'), sumOf('waived_cents')]).toEqual([3, 3 * rateCents, rateCents]);
    // The first invoice, which the dispatcher or the opening issues, carries the fee.
    expect(sumOf('invoiced_fee_cents')).toBe(fee?.amount);
    expect(csv).toHaveLength(1 + file.rows.length);
    expect((await browser.get(path)).text).toContain(`href="${path}/events.csv"`);
  });

  it('can be listed without corrections, or these alone', async () => {
    expect((await json('?only=charges')).rows.map(({ cents }) => cents)).toEqual([rateCents, rateCents, rateCents]);
    expect((await json('?only=corrections')).rows.map((row) => [row.cents, row.running_cents])).toEqual([
      [-rateCents, null],
    ]);
    expect((await browser.get(`${path}?only=corrections`)).text).not.toContain('Running total');
  });

  it('are a file with the same rows, in which a spreadsheet finds no formula', async () => {
    const csv = await browser.get(`${path}.csv`);
    expect(csv.headers['content-disposition']).toBe(
      `attachment; filename="overage-${accountId}-${path.slice(-10)}.csv"`,
    );
    expect(csv.text.trimEnd().split('\n')).toHaveLength(5);
    expect(csv.text).toContain(`,-${String(rateCents)},,,${String(2 * rateCents)},case-7,`);
    expect(csv.text).toContain("staff,somebody,operator,'=a test,");
    const file = JSON.parse((await browser.get(`${path}.json?only=corrections`)).text) as {
      rows: Row[];
      count: number;
    };
    expect(file).toMatchObject({
      of: 'corrections',
      period: { account_id: accountId },
      count: 1,
      rows: [{ cents: -rateCents }],
    });
  });

  it('are not shown where the account has no such period', async () => {
    for (const [other, status] of [
      [path.replace(/\d{4}/, '2019'), 404],
      ['/staff/overage/acc_aaaaaaaaaaaaaaaa/2026-11-01', 404],
      ['/staff/overage/acme/2026-11-01', 400],
      [`${path}0`, 400],
      [`${path}?after=x`, 400],
    ] as const) {
      expect([other, (await browser.get(other)).status]).toEqual([other, status]);
    }
  });

  it('are personal data: who looks is recorded before they are shown, also for a file', async () => {
    const looks = async ({ staffId }: StaffMember) =>
      (await installation.readLog(`staff-${staffId}`))
        .filter(({ type }) => type === 'PersonalDataViewed')
        .map(({ data }) => data);
    const other = await service.invite('support');
    expect(await looks(other)).toEqual([]);
    expect((await (await service.newStaffSession(other)).get(`${path}.csv`)).status).toBe(200);
    const look = { staff_id: other.staffId, account_id: accountId, token: null, page: 'downloads' };
    expect(await looks(other)).toEqual([look]);
    await json();
    const byProgram = { staff_id: support.staffId, by_token: expect.stringMatching(/^stk_/) as string };
    expect((await looks(support)).at(-1)).toEqual({ ...look, ...byProgram });
  });
});

describe('more of them than a page has', () => {
  it('keep the total from page to page, also where a page has corrections alone', async () => {
    // Rows of the read model that no event has: 300 charges, 250 corrections, and one charge more.
    const day = '2019-05-02';
    const stream = `usage-${accountId}-20190502`;
    await service.sql(
      `insert into overage_ledger (event_id, account_id, period_start, type, token, ordinal, stream, revision, position, time,
         cents, rate_cents, rate_version, request_id, actor, corrects, reference)
       select gen_random_uuid(), $1, $2::timestamptz, case when isc then 'ChargeWaived' else 'OverageCharged' end, 'made-up-' || n,
              case when isc then null else n end, $3, n, n, $2::timestamptz, case when isc then -20 else 25 end,
              case when isc then null else 25 end, case when isc then null else 'v1' end, 'made up',
              '{"type":"system","id":"made up"}', case when isc then gen_random_uuid() end, null
       from (select n, n between 301 and 550 as isc from generate_series(1, 551) n) each`,
      [accountId, day, stream],
    );
    await service.sql(
      `insert into period_money (account_id, period_start, month, stream, plan, phase, charges, charged_cents, voided_cents,
         waived_cents, fee_cents, fee_difference_cents, invoiced_overage_cents, invoiced_fee_cents,
         invoiced_fee_difference_cents, credited_overage_cents, credited_fee_cents, difference_cents)
       values ($1, $2, '2019-05', $3, 'dev_100', 'closed', 301, 7525, 0, 5000, 0, 0, 2525, 0, 0, 0, 0, 0)`,
      [accountId, day, stream],
    );
    const expected = Array.from({ length: 551 }, (_, at) => (at < 300 ? 25 : at < 550 ? -20 : 25));
    let total = 0;
    const totals = expected.map((cents) => (total += cents));
    const shown: number[] = [];
    const sizes: number[] = [];
    let at: string | undefined = `/staff/overage/${accountId}/${day}`;
    while (at !== undefined) {
      const { text }: { text: string } = await browser.get(at);
      const rows = [...text.matchAll(/<td class="number">-?\$[\d.,]+<\/td>\s*<td class="number">(-?\$[\d.,]+)<\/td>/g)];
      sizes.push(rows.length);
      shown.push(...rows.map(([, amount = '']) => Math.round(Number(amount.replaceAll(/[$,]/g, '')) * 100)));
      at = nextOf(text);
    }
    expect(sizes).toEqual([200, 200, 151]);
    expect(shown).toEqual(totals);
  });
});
