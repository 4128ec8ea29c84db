import { rmSync } from 'node:fs';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeAuditState } from '../../../projections/queries/audit-state.ts';
import { type Facts, nameOf } from '../../../src/audit/rules/divergence.ts';
import { launchNatsServer } from '../../../src/embedded/nats-server.ts';
import { call } from '../../support/client.ts';
import { openTestPool } from '../../support/postgres.ts';
import { restartable } from '../../support/restartable-server.ts';
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser, send, textOf } from '../browser.ts';
import { chargedAccount } from './charged-accounts.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let ada: StaffMember;
let admin: Browser;
let support: Browser;
let pool: pg.Pool;
/** Its period was November 2026. */
let charged: string;
beforeAll(async () => {
  pool = openTestPool(service.installation.environment.DATABASE_URL);
  ada = await service.invite('admin');
  admin = await service.newStaffSession(ada);
  support = await service.signedInAs('support');
});
afterAll(() => pool.end());

const get = async (path: string, browser = support) => textOf(await browser.get(path));

describe('before anything has happened', () => {
  it('each part says so', async () => {
    expect(await get('/staff/operation')).toMatch(
      /Nothing was verified yet.*No period is over and past its time for corrections with its books still open.*staff \d+ 0 up to date/,
    );
    expect(await get('/staff/operation/work')).toMatch(
      /Downloads that wait 0.*No worker has been there within a day.*No download has failed in the last 30 days/,
    );
    expect(await get('/staff/operation/notices')).toContain('Nobody was told anything yet.');
  });
});

describe('the verification', () => {
  const facts: Facts = {
    rule: 'row_differs',
    account_id: null,
    stream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
    revision: 7,
    // The order of its fields is a part of the fact.
    field: 'credits.terms',
    expected: { b: 1, a: 2 },
    found: null,
  };
  const id = nameOf(facts).slice(0, 16);
  beforeAll(async () => {
    const divergences = [{ name: id, acknowledged: false, facts }];
    const notices = [
      {
        notice: 'invited',
        account_id: 'acc_a',
        stream: 'corrections-acc_a',
        revision: 1,
        correction_id: 'one',
        asked_by: 'stf_sue',
        approved_by: 'stf_ada',
        approved_at: '2026-11-14T11:00:00.000Z',
      },
    ];
    const said = { events: 12_345, position: '900', unknown: 1, known: 0, divergences, notices };
    await writeAuditState(pool, { ...said, isWhole: true, caughtUpAt: '2026-11-14T12:00:00.000Z' });
  });

  it('is shown with each divergence, which only an admin may acknowledge', async () => {
    const page = await support.get('/staff/operation');
    expect(textOf(page)).toMatch(
      /1 value does not follow from the log.*Verified 12,345.*verified \w{3} 2026-11-14 12:00 UTC.*row_differs new.*\{"b":1,"a":2\}/,
    );
    expect(page.text).not.toContain('<textarea');
    expect((await admin.get('/staff/operation')).text).toContain('<textarea');
    const acknowledging = { divergence: id, reference: 'CASE-1', reason: 'a known test' };
    expect((await support.post('/staff/operation/acknowledge', acknowledging)).status).toBe(403);
    const noReason = await admin.post('/staff/operation/acknowledge', { ...acknowledging, reason: '' });
    expect(noReason.status).toBe(400);
  });

  it('shows the approvals that finance should look at', async () => {
    expect(await get('/staff/operation')).toMatch(
      /Approvals to look at .* 2026-11-14 11:00 UTC acc_a stf_sue stf_ada one of the two had invited the other/,
    );
  });

  it('knows one that was acknowledged, by whom and why', async () => {
    const acknowledging = { divergence: id, reference: 'CASE-1', reason: 'a known test' };
    for (const _twice of [1, 2])
      expect((await admin.post('/staff/operation/acknowledge', acknowledging)).status).toBe(303);
    const events = await service.installation.readLog('audit-acknowledgements');
    expect(events).toMatchObject([
      { data: { ...facts, reference: 'CASE-1' }, metadata: { actor: { id: ada.staffId, reason: 'a known test' } } },
    ]);
    // As the verification will look for it.
    expect(nameOf(events[0]?.data as Facts).slice(0, 16)).toBe(id);
    const page = await get('/staff/operation');
    expect(page).toMatch(/is behind.*All of the log up to position 900.*acknowledged.*under CASE-1: a known test/);
  });
});

describe('the work', () => {
  it('shows what waits, and how downloads ended', async () => {
    const { accountId } = await chargedAccount(service, 3);
    charged = accountId;
    const today = new Date().toISOString().slice(0, 10);
    await service.sql(
      `insert into job_days values ($1, 'youtube', 'done', 30), ($1, 'youtube', 'platform_error', 10),
                                   ($1::date - 40, 'youtube', 'too_long', 5)`,
      [today],
    );
    const page = await support.get('/staff/operation/work');
    expect(textOf(page)).toMatch(
      new RegExp(
        `Downloads that wait 3.*youtube 3 .*${accountId} 3 .*youtube platform_error 10 25\\.0 % \\w{3} ${today}`,
      ),
    );
    expect(textOf(page)).not.toContain('too_long');
    const [, plotted = ''] = /data-plot="([^"]+)"/.exec(page.text) ?? [];
    const { series } = JSON.parse(plotted.replaceAll('&quot;', '"')) as {
      series: { label: string; values: number[] }[];
    };
    expect(series).toMatchObject([{ label: 'platform_error' }]);
    expect(series[0]?.values.at(-1)).toBe(10);
  });

  it('says while NATS does not answer that downloads wait', async () => {
    const dataDirectory = makeTemporaryDirectory();
    const nats = await restartable((at) => launchNatsServer({ dataDirectory, ...at }));
    try {
      const behind = { NATS_URL: nats.url, STAFF_PORT: '0' };
      const api = await service.installation.startRole('api', behind);
      const browser = new Browser(api.staffUrl ?? '');
      for (const [name, value] of support.cookies) browser.cookies.set(name, value);
      const said = 'NATS does not answer. Downloads are accepted, and wait until it is back';
      const page = () => get('/staff/operation/work', browser);
      expect(await page()).not.toContain(said);
      await nats.stop();
      await waitFor(async () => (await page()).includes(said), { what: 'the page to say it' });
      expect(await page()).toMatch(/Downloads that wait 3/);
      await nats.start();
      await waitFor(async () => !(await page()).includes(said), { what: 'NATS to be back' });
      await api.stop();
    } finally {
      await nats.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    }
  });

  it('shows a worker with its slots, guards and versions', async () => {
    const worker = await service.installation.startRole('worker');
    const [row] = await service.sql<{ about: object }>('select about from worker_heartbeats');
    expect(row?.about).toMatchObject({
      slots: 2,
      host: expect.any(String) as string,
      versions: { reeltally: expect.any(String) as string, 'yt-dlp': expect.any(String) as string },
    });
    const page = await get('/staff/operation/work');
    expect(page).toMatch(/wrk_[a-z0-9]+ .*at work.*[012] of 2.*sandbox: .*of \d+ on.*yt-dlp \d/);
    await worker.stop();
  });
});

it('warnings and mails are listed', async () => {
  const accountId = await service.openAccount('told@example.com');
  await waitFor(async () => (await get('/staff/operation/notices')).includes(accountId), { what: 'its first invoice' });
  expect(await get('/staff/operation/notices')).toMatch(
    new RegExp(`Invoice 1 told@example.com ${accountId} 1 not sent yet`),
  );
  expect((await support.get('/staff/operation/notices?before=x')).status).toBe(400);
});

it('a warning names the key whose limit it is about', async () => {
  const { cli, sampleUrl } = service.installation;
  const accountId = await service.openAccount('limited@example.com');
  const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>([
    ...['keys', 'issue', accountId, '--label', 'nightly import'],
  ]);
  await cli(['keys', 'limit', keyId, '--downloads', '1']);
  await call(service.api.url, '/video/download', { key, body: { url: sampleUrl('bars') } });
  const told = '100 % of downloads used, of the limit of the key';
  const isThere = async () => (await get('/staff/operation/notices')).includes(`${told} ${keyId}`);
  await waitFor(isThere, { what: 'the warning' });
  expect(await get(`/staff/accounts/${accountId}`)).toContain(`${told} nightly import ${key.slice(0, 8)}`);
});

it('programs are answered with the same', async () => {
  const { token } = await service.issueToken(ada.staffId, ['operation']);
  const { text } = await send(service.staffUrl, {
    method: 'GET',
    path: '/staff/v1/operation',
    headers: { authorization: `Bearer ${token}`, host: new URL(service.staffUrl).host },
  });
  const { data } = JSON.parse(text) as { data: { books: { read_models: { name: string; lag: string }[] } } };
  // The worker of an earlier test may have claimed some.
  const waiting = (await service.sql("select from jobs where status = 'queued'")).length;
  expect(data).toMatchObject({
    books: {
      audit: { events: 12_345, unknown: 0, known: 1, caught_up_at: '2026-11-14T12:00:00.000Z' },
      periods_not_closed: [{ account_id: charged, phase: 'open' }],
    },
    work: { queue: { waiting } },
  });
  expect(data.books.read_models.map(({ name }) => name)).toContain('corrections');
});

it('the books name the customers of divergences, approvals and periods', async () => {
  const accountId = await service.openAccount('books@example.com');
  const of = { account_id: accountId, stream: `usage-${accountId}-20261101`, revision: 1 };
  const facts: Facts = { ...of, rule: 'row_differs', field: 'credits.terms', expected: 1, found: 2 };
  const who = { asked_by: 'stf_sue', approved_by: 'stf_ada', approved_at: '2026-11-14T11:00:00.000Z' };
  await writeAuditState(pool, {
    events: 1,
    position: '900',
    unknown: 1,
    known: 0,
    isWhole: true,
    caughtUpAt: '2026-11-14T12:00:00.000Z',
    divergences: [{ name: nameOf(facts).slice(0, 16), acknowledged: false, facts }],
    notices: [{ ...of, ...who, notice: 'invited', correction_id: 'one' }],
  });
  const named = `books@example.com ${accountId}`;
  await waitFor(async () => (await get('/staff/operation')).split(named).length === 3, { what: 'both names' });
});
