import { beforeAll, describe, expect, it } from 'vitest';
import { removeStaff, revokeStaffToken } from '../../../src/commands/staff.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { Browser, textOf } from '../browser.ts';
import { askForLink } from '../sign-in.ts';
import { testMalformedRequests } from './malformed-requests.ts';
import { testMonths } from './months.ts';
import { callProgram, makeThings, programs, type Things } from './programs.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

/**
 * Tests that would disturb others on a service that files share: rows that no event has made, a projector that stands still, and
 * sums over all accounts. All on one service, because a start takes longer than these tests.
 */
const service = await staffOfFile();

describe('with nothing that waits or was given back', () => {
  it('says so', async () => {
    const support = await service.signedInAs('support');
    const page = textOf(await support.get('/staff/corrections'));
    expect(page).toMatch(/Nothing waits for an approval\..*Nothing was given back\./);
    expect(textOf(await support.get('/staff/corrections?list=asked'))).toContain('No correction matches.');
  });
});

testMonths(service);
testMalformedRequests(service);

describe('more of them than a page has', () => {
  it('keep the total from page to page, also where a page has corrections alone', async () => {
    // Rows of the read model that no event has: 300 charges, 250 corrections, and one charge more.
    const day = '2019-05-02';
    const accountId = await service.openAccount('pages@example.com');
    const browser = await service.signedInAs('support');
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
      const rows = [
        ...text.matchAll(
          /<td [^>]*class="number"[^>]*>-?\$[\d.,]+<\/td>\s*<td [^>]*class="number"[^>]*>(-?\$[\d.,]+)<\/td>/g,
        ),
      ];
      sizes.push(rows.length);
      shown.push(...rows.map(([, amount = '']) => Math.round(Number(amount.replaceAll(/[$,]/g, '')) * 100)));
      at = nextOf(text);
    }
    expect(sizes).toEqual([200, 200, 151]);
    expect(shown).toEqual(totals);
  });
});

const nextOf = (text: string) => /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');

describe('a link', () => {
  it('whose row the service has not written signs nobody in', async () => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    const path = await service.printedPath(own);
    await service.sql('update staff_links set staff_id = $1', [admin.staffId]);
    const { status, text } = await new Browser(service.staffUrl).post(path);
    expect([status, text.includes('This link does not work')]).toEqual([404, true]);
  });

  it('goes to the address that the log knows, whatever row of Postgres says', async () => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    await service.sql(
      `update staff_addresses set email_mac = (select email_mac from staff_addresses where staff_id = $1)
       where staff_id = $2`,
      [own.staffId, admin.staffId],
    );
    await service.sql('delete from staff_addresses where staff_id = $1', [own.staffId]);
    const before = service.mails.taken.length;
    await new Browser(service.staffUrl).post('/staff/sign-in', { email: own.email });
    // Another mail is sent after it.
    const other = await service.invite('support');
    await askForLink(new Browser(service.staffUrl), other.email, service, { console: 'staff' });
    expect(service.mails.taken.slice(before).map(({ to }) => to)).toEqual([other.email]);
    expect(await service.sql('select from staff_links where staff_id = $1', [admin.staffId])).toEqual([]);
  });
});

describe('a session', () => {
  it.each(['staff_id', 'role', 'started_at'])('is none once its %s was changed', async (column) => {
    const [own, admin] = [await service.invite('support'), await service.invite('admin')];
    const browser = await service.newStaffSession(own);
    const values = { staff_id: `'${admin.staffId}'`, role: "'admin'", started_at: "started_at + interval '1 second'" };
    await service.sql(
      `update staff_sessions set ${column} = ${values[column as keyof typeof values]} where staff_id = $1`,
      [own.staffId],
    );
    expect((await browser.get('/staff/operation')).status).toBe(303);
  });
});

describe('a token', () => {
  const scopes = ['accounts', 'jobs', 'money', 'operation'] as const;
  let things: Things;
  let admin: StaffMember;
  beforeAll(async () => {
    things = await makeThings(service);
    admin = await service.invite('admin');
  });

  const call = (name: string, token: string) =>
    callProgram(service, { things, name, authorization: `Bearer ${token}` });

  it('that is revoked, or of somebody removed, is refused at once, also while the read models stand still', async () => {
    const leaver = await service.invite('admin');
    const [revoked, left] = [
      await service.issueToken(leaver.staffId, scopes),
      await service.issueToken(leaver.staffId, scopes),
    ];
    const answersOf = async () => {
      const answers = [revoked, left].map(({ token }) => call('GET /operation', token));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await answersOf()).toEqual([200, 200]);
    const order = { staffId: leaver.staffId, by: service.operator, timeoutMs: patienceMs };
    service.projector.pause();
    try {
      await revokeStaffToken(service.commands, { ...order, tokenId: revoked.tokenId });
      expect(await answersOf()).toEqual([401, 200]);
      await removeStaff(service.commands, order);
      expect(await answersOf()).toEqual([401, 401]);
    } finally {
      service.projector.resume();
    }
  });

  it('shows no rows while a reader of the log is refused', async () => {
    const { token } = await service.issueToken(admin.staffId, scopes);
    await service.sql("insert into refused_readers (name, reason) values ('usage_and_jobs', 'the log was replaced')");
    for (const name of Object.keys(programs(things)))
      expect([name, await call(name, token)]).toMatchObject([name, { status: 503, code: 'unavailable' }]);
    await service.sql('delete from refused_readers');
    expect((await call('GET /operation', token)).status).toBe(200);
  });
});
