import { beforeAll, describe, expect, it } from 'vitest';
import { listAccessRecords } from '../../projections/access-records.ts';
import { apiKeys } from '../../projections/api-keys.ts';
import {
  type CorrectionRow,
  corrections,
  listCorrections,
  listWaitingCorrections,
  readCorrection,
} from '../../projections/corrections.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import { documentMails } from '../../projections/document-mails.ts';
import { invoices } from '../../projections/invoices.ts';
import { listJobDays } from '../../projections/job-days.ts';
import { jobTimeline } from '../../projections/job-timeline.ts';
import { overageLedger } from '../../projections/overage-ledger.ts';
import { people } from '../../projections/people.ts';
import { listGivenBack } from '../../projections/queries/given-back.ts';
import { listNotices, listWorkerNotices, readWork } from '../../projections/queries/operation.ts';
import { search, type SearchHit } from '../../projections/queries/search-by-id-or-number.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { listStaffMembers, listStaffOfAddress, readStaffMember, staff } from '../../projections/staff.ts';
import { readStaffToken } from '../../projections/staff-tokens.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { hashIdempotencyKey } from '../../src/commands/ids/idempotency-key-hash.ts';
import type { Operator, StaffActor } from '../../src/domain/correction-requests.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { Random } from '../audit/random.ts';
import { RichHistory } from '../audit/rich-history.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { sum } from '../support/sum.ts';
import { readModelsOfFile, testMacs } from './read-models-under-test.ts';

/** An account that has lived through everything, and the staff who have looked at it. */
const log = logUnderTest();
const followed = [
  staff,
  corrections,
  usageAndJobs,
  apiKeys,
  overageLedger,
  jobTimeline,
  invoices,
  documentMails,
  people,
];
const models = readModelsOfFile(log, ...followed);
let accountId: string;

beforeAll(async () => {
  const history = new RichHistory(log.store, new Random(20_261_125), '2024-01-31T10:00:00.000Z');
  await history.live(2, 40);
  await history.employStaff();
  ({ accountId } = history);
  await models.caughtUp();
});

const hashOfToken = async () => {
  const { rows } = await models.pool.query<{ token_hash: string }>('select token_hash from staff_tokens');
  return rows[0]?.token_hash ?? '';
};
const members = () => listStaffMembers(models.pool, { limit: 10, macs: testMacs });

describe('staff', () => {
  it('are listed in the order in which they came, with their newest role, and found by id and by address', async () => {
    const all = await members();
    expect(all.map(({ role, invited, removed_at }) => [role, invited, removed_at !== null]).sort()).toEqual([
      ['admin', true, false],
      ['finance', true, false],
      ['finance', true, true],
    ]);
    const [first, ...others] = all;
    expect(await listStaffMembers(models.pool, { after: first!, limit: 10, macs: testMacs })).toEqual(others);
    expect(await readStaffMember(models.pool, first!.staff_id, testMacs)).toEqual(first);
    expect(await readStaffMember(models.pool, 'stf_nobodynobodynobody', testMacs)).toBeUndefined();
    const admin = all.filter(({ role }) => role === 'admin');
    const ofAddress = (email: string) => listStaffOfAddress(models.pool, { email, macs: testMacs, limit: 5 });
    expect(await ofAddress('Admin@example.com')).toEqual(admin);
    // Removed.
    expect(await ofAddress('support@example.com')).toEqual([]);
  });

  it('have tokens, which are found by their hash', async () => {
    const token = await readStaffToken(models.pool, await hashOfToken(), testMacs);
    expect(token).toMatchObject({ prefix: 'rts_test', scopes: ['jobs'], label: 'a script' });
    expect(token).not.toMatchObject({ revokedAt: null });
    expect(await readStaffToken(models.pool, 'f'.repeat(64), testMacs)).toBeUndefined();
  });

  it('are seen by whom and what they have looked at', async () => {
    const looks = await listAccessRecords(models.pool, { of: { accountId }, limit: 5 });
    // By the member, and by a program with the member's token: in one append.
    const [newer, older] = looks as [(typeof looks)[0], (typeof looks)[0]];
    expect(looks).toMatchObject([older, older].map(() => ({ account_id: accountId, token: null, page: 'account' })));
    const { staff_id: staffId } = newer;
    expect(await listAccessRecords(models.pool, { of: { staffId }, limit: 5 })).toEqual(looks);
    expect(await listAccessRecords(models.pool, { of: { staffId }, before: newer.position, limit: 5 })).toEqual([
      older,
    ]);
    expect(await listAccessRecords(models.pool, { of: { staffId }, before: older.position, limit: 5 })).toEqual([]);
    expect(await listAccessRecords(models.pool, { of: { token: 'A'.repeat(32) }, limit: 5 })).toEqual([]);
  });

  it.each([
    ['a role that somebody raised', `update staff set role = 'admin' where role = 'finance' and removed_at is null`, 1],
    ['a removed member who is back', 'update staff set removed_at = null where removed_at is not null', 1],
  ])('do not believe %s', async (_name, sql, missing) => {
    const before = await members();
    const client = await models.pool.connect();
    try {
      await client.query('begin');
      await client.query(sql);
      const left = await listStaffMembers(client, { limit: 10, macs: testMacs });
      expect(left).toHaveLength(before.length - missing);
      await client.query('rollback');
      await client.query('begin');
      await client.query(`update staff_tokens set revoked_at = null, scopes = '["money"]'`);
      expect(await readStaffToken(client, await hashOfToken(), testMacs)).toBe(notBelieved);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});

describe('corrections', () => {
  it('that wait come oldest first; all come newest first, by status, asker, account and reference', async () => {
    const list = (filter = {}) => listCorrections(models.pool, { filter, limit: 20 });
    const all = await list();
    const byOperator = all.filter((one) => (one.asked_by as StaffActor | Operator).role === 'operator');
    expect(byOperator.length).toBeGreaterThan(0);
    const statuses = all.filter((one) => !byOperator.includes(one)).map(({ status }) => status);
    expect([...statuses].sort()).toEqual(['asked', 'failed', 'made', 'made', 'made', 'made', 'refused']);
    const waiting = await listWaitingCorrections(models.pool, { status: 'asked', limit: 5 });
    expect(waiting).toEqual(await list({ status: 'asked' }));
    const others = { status: 'asked', except: [waiting[0]!.correction_id], limit: 5 } as const;
    expect(await listWaitingCorrections(models.pool, others)).toEqual([]);
    expect(await listWaitingCorrections(models.pool, { status: 'permitted', limit: 5 })).toEqual([]);
    const [newest] = all as [CorrectionRow];
    expect(await list({ accountId })).toEqual(all);
    expect(await list({ askedBy: newest.asked_by.id })).toEqual(
      all.filter((one) => one.asked_by.id === newest.asked_by.id),
    );
    expect(await list({ reference: newest.reference })).toEqual([newest]);
    expect(await readCorrection(models.pool, newest.correction_id)).toEqual(newest);
    expect(await readCorrection(models.pool, newUuid())).toBeUndefined();
    expect(await listCorrections(models.pool, { before: newest.position, limit: 20 })).toEqual(all.slice(1));
    const failed = all.find(({ status }) => status === 'failed');
    expect(failed).toMatchObject({ why: 'nothing_to_give_back', decided_by: null, made_cents: null });
  });
});

describe('what was given back', () => {
  it('is every waiver, returned credit and credit note, the newest first, page by page', async () => {
    const all = await listGivenBack(models.pool, { limit: 200 });
    const events = (await log.store.readAll(-1n, 10_000)).filter(({ type }) =>
      ['ChargeWaived', 'DownloadCreditReturned', 'CreditNoteIssued'].includes(type),
    );
    expect(all.map(({ event_id: id, type }) => [id, type])).toEqual(events.reverse().map(({ id, type }) => [id, type]));
    expect(new Set(all.map(({ type }) => type)).size).toBeGreaterThan(1);
    for (const one of all) expect(one).toMatchObject({ account_id: accountId });
    const [inConsole, elsewhere] = [
      all.filter(({ correction }) => correction),
      all.filter(({ correction }) => !correction),
    ];
    const made = (await listCorrections(models.pool, { filter: { status: 'made' }, limit: 20 })).map(
      ({ correction_id: id }) => id,
    );
    expect(new Set(inConsole.map(({ correction }) => correction?.correction_id))).toEqual(new Set(made));
    expect(elsewhere.length).toBeGreaterThan(0);
    const [first, second] = all;
    expect(await listGivenBack(models.pool, { accountId, before: first!.position, limit: 1 })).toEqual([second]);
    expect(await listGivenBack(models.pool, { accountId: 'acc_nobody', limit: 5 })).toEqual([]);
  });
});

describe('search', () => {
  const find = (text: string): Promise<SearchHit[]> =>
    search({ client: models.pool, macs: testMacs, platforms: {} }, text);
  const rowOf = async (sql: string) => (await models.pool.query<Record<string, string>>(sql)).rows[0]!;

  it('finds by everything that somebody may have', async () => {
    const job = await rowOf('select * from jobs limit 1');
    const charge = await rowOf('select * from overage_ledger where token is not null limit 1');
    const waiver = await rowOf('select * from overage_ledger where reference is not null limit 1');
    const event = await rowOf(`select * from job_timeline where type = 'JobClaimed' limit 1`);
    const key = await rowOf('select * from api_keys limit 1');
    const correction = await rowOf('select * from corrections limit 1');
    const note = await rowOf(
      `select data->>'reference' as reference from invoices where type = 'CreditNoteIssued' limit 1`,
    );
    const account = { account_id: accountId };
    const cases: [string, Partial<SearchHit>][] = [
      [job['token']!, { kind: 'download', token: job['token']!, ...account }],
      [` ${accountId} `, { kind: 'account', ...account }],
      [key['key_id']!, { kind: 'api_key', id: key['key_id']!, ...account }],
      ['rtk_te', { kind: 'api_key', ...account }],
      ['rtk_test0123456789', { kind: 'api_key', ...account }],
      ['OWNER@example.com', { kind: 'person', ...account }],
      [job['video_id']!, { kind: 'download', ...account }],
      [documentNumber('invoice', { account_id: accountId, number: 1 }), { kind: 'document', id: 'InvoiceIssued 1' }],
      [charge['request_id']!, { kind: 'request', token: charge['token']!, ...account }],
      [event['event_id']!, { kind: 'event', token: event['token']!, id: event['event_id']! }],
      [waiver['reference']!, { kind: 'reference', token: waiver['token']!, ...account }],
      [note['reference']!, { kind: 'document', ...account }],
      [correction['reference']!, { kind: 'correction', id: correction['correction_id']! }],
      [correction['correction_id']!.toUpperCase(), { kind: 'correction', id: correction['correction_id']! }],
      [correction['asked_event_id']!, { kind: 'correction', id: correction['correction_id']! }],
    ];
    for (const [text, hit] of cases) {
      const found = await find(text);
      expect([
        text,
        found.some((one) => Object.entries(hit).every(([name, value]) => one[name as keyof SearchHit] === value)),
      ]).toEqual([text, true]);
    }
  });

  it('finds an idempotency key by what was typed', async () => {
    const client = await models.pool.connect();
    try {
      await client.query('begin');
      const { rows } = await client.query<{ token: string }>(
        'update idempotency_keys set key_hash = $1 where token = (select min(token) from idempotency_keys) returning token',
        [hashIdempotencyKey('order-17')],
      );
      const found = await search({ client, macs: testMacs, platforms: {} }, 'order-17');
      expect(found).toMatchObject([{ kind: 'idempotency_key', token: rows[0]!.token, account_id: accountId }]);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it('finds an event of a download with its account, also where the token has hyphens', async () => {
    const client = await models.pool.connect();
    try {
      await client.query('begin');
      const [token, hyphened] = [(await rowOf('select min(token) as token from jobs'))['token']!, 'A-with-hyphens-'];
      await client.query('update jobs set token = $2 where token = $1', [token, hyphened]);
      await client.query('update job_timeline set token = $2, stream = replace(stream, $1, $2) where token = $1', [
        ...[token, hyphened],
      ]);
      const { rows } = await client.query<{ event_id: string; stream: string }>(
        'select event_id, stream from job_timeline where token = $1',
        [hyphened],
      );
      expect(rows.map(({ stream }) => stream)).toContain(`job-${hyphened}`);
      for (const { event_id: id } of rows) {
        const found = await search({ client, macs: testMacs, platforms: {} }, id);
        expect(found).toMatchObject([{ kind: 'event', id, token: hyphened, account_id: accountId }]);
      }
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it('finds a video by any form of its address, and on its own platform alone', async () => {
    const client = await models.pool.connect();
    const addressed = (text: string) => search({ client, macs: testMacs, platforms: {} }, text);
    try {
      await client.query('begin');
      const { rows } = await client.query<{ token: string }>(
        `update job_timeline set data = jsonb_set(data::jsonb, '{video_id}', '"dQw4w9WgXcQ"')::json
         where token = (select min(token) from jobs) and type = 'DownloadQueued' returning token`,
      );
      const hit = { kind: 'download', token: rows[0]!.token, account_id: accountId, label: 'youtube dQw4w9WgXcQ' };
      expect(await addressed('https://youtu.be/dQw4w9WgXcQ?t=42')).toMatchObject([hit]);
      expect(await addressed('dQw4w9WgXcQ')).toMatchObject([hit]);
      await client.query(
        `update job_timeline set data = jsonb_set(data::jsonb, '{platform}', '"vimeo"')::json where token = $1`,
        [rows[0]!.token],
      );
      expect(await addressed('https://youtu.be/dQw4w9WgXcQ')).toEqual([]);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it.each(['', '  ', 'x'.repeat(2_049), 'nothing-has-this', 'acc_', 'INV-1', `'; drop table jobs; --`, '%', newUuid()])(
    'finds nothing for %j',
    async (text) => {
      expect(await find(text)).toEqual([]);
    },
  );

  it('says the newest of each kind first, and one more than it was asked for', async () => {
    const { video_id: videoId } = await rowOf('select video_id from jobs limit 1');
    const hits = await search({ client: models.pool, macs: testMacs, platforms: {} }, videoId!, { limit: 4 });
    expect(hits).toHaveLength(5);
    const times = hits.map(({ time }) => time!);
    expect(times).toEqual([...times].sort().reverse());
  });
});

describe('the page about the service', () => {
  const since = '2024-01-01T00:00:00.000Z';

  it('counts the ends of downloads by day, platform and reason', async () => {
    const days = await listJobDays(models.pool, { from: '2024-01-01', to: '2024-12-31' });
    const { rows } = await models.pool.query(
      `select (finished_at at time zone 'utc')::date::text as day, platform, coalesce(failure_reason, 'done') as outcome,
              count(*)::int as downloads
       from jobs where finished_at is not null group by 1, 2, 3 order by 1, 2, 3`,
    );
    expect(days).toEqual(rows);
    expect(new Set(days.map(({ outcome }) => outcome)).size).toBeGreaterThan(2);
    expect(await listJobDays(models.pool, { from: '2023-01-01', to: '2023-12-31' })).toEqual([]);
  });

  it('says how long the downloads of each hour waited and ran', async () => {
    const { hours } = await readWork(models.pool, { maxWorkers: 1, since });
    const { rows } = await models.pool.query<{ n: number }>(
      "select count(*)::int as n from jobs where status = 'done' and file_expired_at is null",
    );
    expect(sum(hours.map(({ downloads }) => downloads))).toBe(rows[0]?.n);
    expect(hours.length).toBeGreaterThan(0);
    for (const hour of hours) {
      expect(hour.waited_median).toBeLessThanOrEqual(hour.waited_p95);
      expect(hour.ran_median).toBeLessThanOrEqual(hour.ran_p95);
    }
    const later = await readWork(models.pool, { maxWorkers: 1, since: '2100-01-01T00:00:00.000Z' });
    expect(later.hours).toEqual([]);
  });

  it('says what the workers that beat now lack', async () => {
    const about = '{"host": "barn", "notices": ["wait for free disk space"]}';
    await models.pool.query('insert into worker_heartbeats (worker_id, about) values ($1, $2)', ['wrk_full', about]);
    const old = "clock_timestamp() - interval '5 minutes'";
    await models.pool.query(
      `insert into worker_heartbeats (worker_id, about, beaten_at) values ('wrk_old', $1, ${old})`,
      [about],
    );
    expect(await listWorkerNotices(models.pool)).toEqual([{ host: 'barn', notices: ['wait for free disk space'] }]);
    await models.pool.query("delete from worker_heartbeats where worker_id in ('wrk_full', 'wrk_old')");
  });

  it('shows what waits, and for how long', async () => {
    const { rows } = await models.pool.query<{ n: number }>(
      `select count(*)::int as n from jobs where status = 'queued'`,
    );
    const { queue } = await readWork(models.pool, { maxWorkers: 1, since });
    expect(queue).toMatchObject({
      waiting: rows[0]!.n,
      is_more: false,
      accounts: [{ name: accountId, waiting: rows[0]!.n }],
    });
    expect(sum(queue.platforms.map(({ waiting }) => waiting))).toBe(queue.waiting);
    const first = await readWork(models.pool, { maxLooked: 1, maxWorkers: 1, since });
    expect(first.queue).toMatchObject({ waiting: 1, is_more: true, oldest: queue.oldest });
  });

  it('shows workers with what they do, and jobs whose worker has no beat', async () => {
    await models.pool.query(`insert into worker_heartbeats (worker_id, about) values ('wrk_idle', '{"slots": 4}')`);
    const { workers } = await readWork(models.pool, { maxWorkers: 50, since });
    expect(workers[0]).toMatchObject({ worker_id: 'wrk_idle', about: { slots: 4 }, jobs: [] });
    const held = workers.slice(1);
    expect(held.length).toBeGreaterThan(0);
    for (const worker of held) expect(worker).toMatchObject({ quiet_seconds: null, jobs: [{ account_id: accountId }] });
  });

  it('lists warnings and mails, the newest first', async () => {
    const all = await listNotices(models.pool, { limit: 200 });
    expect(new Set(all.map(({ kind }) => kind)).has('document')).toBe(true);
    const times = all.map(({ time }) => time);
    expect(times).toEqual([...times].sort().reverse());
    expect(await listNotices(models.pool, { before: all[1]!, limit: 1 })).toEqual([all[2]]);
  });
});

it('the period’s running total beside a charge is what the period had then', async () => {
  const { rows } = await models.pool.query<{ running: number; sum: number }>(
    `select running_cents::float8 as running,
            (select sum(cents)::float8 from overage_ledger l where l.stream = j.usage_stream and l.revision < j.usage_revision) as sum
     from jobs j`,
  );
  for (const { running, sum } of rows) expect(running).toBe(sum);
  expect(rows.some(({ running }) => running > 0)).toBe(true);
});

it('a rebuild makes the same rows', async () => {
  for (const projection of [staff, corrections, usageAndJobs]) {
    const { tables } = await rebuild(projection, {
      store: log.store,
      pool: models.pool,
      macs: testMacs,
      progress: () => undefined,
    });
    for (const { name, missing, surplus } of tables)
      expect({ name, missing, surplus }).toEqual({ name, missing: 0, surplus: 0 });
  }
});
