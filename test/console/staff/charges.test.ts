import { beforeAll, describe, expect, it } from 'vitest';
import { staffStream } from '../../../src/domain/staff-events.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Browser } from '../browser.ts';
import { queuedAccount } from './charged-accounts.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);

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

beforeAll(async () => {
  ({ accountId, tokens } = await queuedAccount(service, { downloads: 4, inPlan: 1 }));
  const decision = ['--reference', 'case-7', '--reason', '=a test', '--by', 'somebody'];
  await service.installation.cli(['ledger', 'waive', tokens[1] ?? '', ...decision]);
  const waived = 'select from period_money where account_id = $1 and waived_cents > 0';
  await waitFor(async () => (await service.sql(waived, [accountId])).length === 1, { what: 'the waiver' });
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
      'select position::text from overage_ledger l where account_id = $1 and cents > 0 order by l.position limit 1';
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
    expect(csv.text).toContain(`,-${String(rateCents)},,,${String(2 * rateCents)},0,0,0,case-7,`);
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
      (await service.commands.store.read(staffStream(staffId), 0))
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
