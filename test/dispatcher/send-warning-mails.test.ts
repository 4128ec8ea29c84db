import { describe, expect, it } from 'vitest';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { measureWaitingWarnings } from '../../projections/usage-warnings.ts';
import { invitePerson, removePerson } from '../../src/commands/accounts.ts';
import { openerOf, type Person } from '../../src/domain/people.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { endPeriods } from '../commands/close-books.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ask, freshCause, midNovember, queueAll, readUsage, upFrom, writersOf } from '../commands/usage-account.ts';
import { lookUp } from '../domain/usage-examples.ts';
import { readModelsOfTest, rememberingLogger, testMacs } from '../projections/read-models-under-test.ts';
import { startMailServer } from '../support/mail-server.ts';
import { scaled } from '../support/proof-scale.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import {
  mailed,
  mailerTo,
  mailingUnderTest,
  mailsTo,
  openOwned,
  ownerOf,
  recordedIds,
  useDownloads,
} from './mailing.ts';

const log = logUnderTest();
const mailing = mailingUnderTest(log);

describe('warning mails', () => {
  it('go to the owner, once each, and are recorded with their Message-ID', async () => {
    const { server, start } = mailing;
    start();
    const account = await useDownloads(log.store, 5);
    const ids = await mailed(log.store, account, 2);
    const mails = mailsTo(server.taken, account);
    const warnings = (await log.store.read(account.stream, 0)).filter(({ type }) => type === 'UsageWarningReached');
    // Reached in one append, they make one mail, that of the higher one.
    const id = `<${warnings[1]!.id}@reeltally.test>`;
    expect(mails.map(({ messageId }) => messageId)).toEqual([id]);
    expect(ids).toEqual([id, id]);
    expect(mails[0]!.raw).toContain('Subject: All downloads of this period are used');
    const recorded = (await readUsage(log.store, account.stream)).filter(
      ({ event }) => event.type === 'UsageWarningMailed',
    );
    expect(recorded[0]).toMatchObject({
      event: { data: { warning_event_id: warnings[0]!.id, pool: 'downloads', threshold_percent: 80 } },
      metadata: { actor: { type: 'system', id: 'warning-mails' }, $causationId: warnings[1]!.id },
    });
  });

  it('go to all people of the account, in one mail, and no more to somebody removed', async () => {
    const { server, start } = mailing;
    const account = await openOwned(log.store);
    const people = { store: log.store, now: () => midNovember, newUuid, newId, randomBits };
    const { accountId } = account;
    const asked = { accountId, correlationId: newUuid(), actor: freshCause().actor, timeoutMs: patienceMs };
    const [staying, leaving] = [`${newUuid()}@example.com`, `${newUuid()}@example.com`];
    await invitePerson(people, { ...asked, email: staying });
    const removed = await invitePerson(people, { ...asked, email: leaving });
    await removePerson(people, { ...asked, personId: (removed as Person).personId });
    await removePerson(people, { ...asked, personId: openerOf(accountId) });
    start();
    await queueAll(writersOf(log.store), account, upFrom(1, 4));
    await mailed(log.store, account, 1);
    expect(server.taken.filter(({ to }) => to.includes(staying)).map(({ to }) => to)).toEqual([staying]);
    expect(server.taken.filter(({ to }) => to.includes(leaving) || to.includes(ownerOf(account)))).toEqual([]);
  });

  it('of thresholds that are reached one after the other go out one by one', async () => {
    const { server, start } = mailing;
    start();
    const account = await useDownloads(log.store, 4);
    const [first] = await mailed(log.store, account, 1);
    const later = writersOf(log.store, () => '2026-11-14T12:00:00.001Z');
    await queueAll(later, account, [5]);
    const ids = await mailed(log.store, account, 2);
    expect(ids[0]).toBe(first);
    expect(new Set(ids).size).toBe(2);
    expect(mailsTo(server.taken, account).map(({ messageId }) => messageId)).toEqual(ids);
  });

  it('of thresholds that are reached together make one mail, even if the read model has only the lower one yet', async () => {
    const { server, start, models } = mailing;
    const account = await useDownloads(log.store, 5);
    await mailing.models.caughtUp();
    await mailing.stopProjecting();
    const { rows: warnings } = await models.pool.query<{ event_id: string; threshold_percent: number }>(
      'delete from usage_warnings where stream = $1 returning *',
      [account.stream],
    );
    const insert = (row: object) =>
      models.pool.query('insert into usage_warnings select * from jsonb_populate_record(null::usage_warnings, $1)', [
        row,
      ]);
    const lower = warnings.find(({ threshold_percent: percent }) => percent === 80)!;
    const higher = warnings.find(({ threshold_percent: percent }) => percent === 100)!;
    await insert(lower);
    // Newer, so that once its mail is out, the lower one has been looked at.
    const other = await useDownloads(log.store, 4);
    const [warning] = (await log.store.read(other.stream, 0)).filter(({ type }) => type === 'UsageWarningReached');
    const ofOther = { event_id: warning!.id, account_id: other.accountId, stream: other.stream };
    await insert({ ...lower, ...ofOther, time: '2026-11-14T13:00:00.000Z' });
    start();
    await mailed(log.store, other, 1);
    expect(mailsTo(server.received, account)).toEqual([]);
    await insert(higher);
    const id = `<${higher.event_id}@reeltally.test>`;
    expect(await mailed(log.store, account, 2)).toEqual([id, id]);
    expect(mailsTo(server.received, account).map(({ messageId }) => messageId)).toEqual([id]);
  });

  it('tell that the cap is reached, once, while the period is open', async () => {
    const { server, start } = mailing;
    start();
    const account = await openOwned(log.store, { warning_percents: [] });
    const writers = writersOf(log.store);
    await ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 30, effective: 'now' });
    await queueAll(writers, account, upFrom(1, 6));
    const mailedCap = await waitFor(
      async () => (await readUsage(log.store, account.stream)).find(({ event }) => event.type === 'OverageCapMailed'),
      { what: 'the mail about the cap' },
    );
    const [reached] = (await log.store.read(account.stream, 0)).filter(({ type }) => type === 'OverageCapReached');
    const data = { cap_event_id: reached!.id, message_id: `<${reached!.id}@reeltally.test>` };
    expect(mailedCap.event).toEqual({ type: 'OverageCapMailed', data });
    expect(mailsTo(server.taken, account)).toHaveLength(1);
    expect(mailsTo(server.taken, account)[0]!.raw).toContain('Subject: Your cap on overage charges is reached');
  });

  it('about a cap are not sent any more when its period has ended', async () => {
    const { server, start, models } = mailing;
    const account = await openOwned(log.store, { warning_percents: [] });
    const writers = writersOf(log.store);
    await ask(writers, account, { kind: 'set_overage_cap', overageCapCents: 30, effective: 'now' });
    await queueAll(writers, account, upFrom(1, 6));
    await endPeriods(log.store, account, '2027-01-01T00:00:00.000Z');
    await mailing.models.caughtUp();
    start();
    const other = await useDownloads(log.store, 4);
    await mailed(log.store, other, 1);
    expect(mailsTo(server.received, account)).toEqual([]);
    // The log has the other mail before the read model does.
    await mailing.models.caughtUp();
    expect((await measureWaitingWarnings(models.pool, '2027-01-01T00:00:00.000Z')).count).toBe(0);
  });

  it('tell of metadata requests too', async () => {
    const { server, start } = mailing;
    start();
    const account = await openOwned(log.store);
    const writers = writersOf(log.store);
    for (let number = 0; number < 4; number += 1) await ask(writers, account, lookUp(newUuid()));
    await mailed(log.store, account, 1);
    expect(mailsTo(server.taken, account)[0]!.raw).toContain('80 % of the metadata requests of this period are used');
  });

  it('that are refused are tried again until they are taken, and hold up nobody else', async () => {
    const { server, start } = mailing;
    const unlucky = await useDownloads(log.store, 4);
    const { logger, text } = rememberingLogger();
    let refusals = 0;
    server.treat(({ to }) => (to === ownerOf(unlucky) && refusals++ < 3 ? 550 : 'take'));
    start({ logger });
    const other = await useDownloads(log.store, 4);
    await mailed(log.store, other, 1);
    const [id] = await mailed(log.store, unlucky, 1);
    const mails = mailsTo(server.received, unlucky);
    expect(mails.map(({ messageId }) => messageId)).toEqual(Array<string>(4).fill(id!));
    expect(mailsTo(server.taken, unlucky)).toHaveLength(1);
    // The log says which warning, and keeps the address to itself.
    expect(text()).toContain('EMESSAGE 550 DATA');
    expect(text()).not.toContain('example.com');
  });

  it('whose connection breaks off before the server has answered are sent again under the same Message-ID', async () => {
    const { server, start } = mailing;
    let cuts = 0;
    server.treat(() => (cuts++ < 2 ? 'cut' : 'take'));
    start();
    const account = await useDownloads(log.store, 4);
    const [id] = await mailed(log.store, account, 1);
    expect(mailsTo(server.received, account).map(({ messageId }) => messageId)).toEqual([id, id, id]);
    expect(await recordedIds(log.store, account)).toHaveLength(1);
  });

  it('wait for a mail server that is away, and are sent when it is there', async () => {
    const { server, start, models } = mailing;
    await server.close();
    const failed: string[] = [];
    start({ observer: { mailSent: () => undefined, mailFailed: (_about, reason) => failed.push(reason) } });
    const accounts = await Promise.all([useDownloads(log.store, 5), useDownloads(log.store, 4)]);
    await waitFor(() => failed.length >= 3, { what: 'attempts in vain' });
    expect(new Set(failed)).toEqual(new Set(['away']));
    expect((await measureWaitingWarnings(models.pool, '2026-11-14T12:01:00.000Z')).oldestSeconds).toBe(60);
    await using back = await startMailServer({ port: server.port });
    await mailed(log.store, accounts[0], 2);
    await mailed(log.store, accounts[1], 1);
    expect(back.taken).toHaveLength(2);
    await waitFor(async () => (await measureWaitingWarnings(models.pool, '2026-11-14T12:01:00.000Z')).count === 0, {
      what: 'the read model to follow',
    });
  });

  it('are sent once by two dispatchers that both think they lead', async () => {
    const { server, start, models } = mailing;
    // Slow enough for the other to look meanwhile.
    server.treat(() => new Promise((resolve) => setTimeout(resolve, 5, 'take')));
    const accounts = await Promise.all(Array.from({ length: scaled(8, 100) }, () => useDownloads(log.store, 5)));
    for (let process = 0; process < 2; process += 1) {
      start({ pool: models.openAnother(), mailer: mailerTo(server) });
    }
    for (const account of accounts) {
      const ids = await mailed(log.store, account, 2);
      const sent = mailsTo(server.received, account).map(({ messageId }) => messageId);
      expect(ids).toEqual([...sent, ...sent]);
    }
    expect(server.received).toHaveLength(accounts.length);
  });

  it('are left to whoever has claimed them, until the claim is old', async () => {
    const { server, start, models } = mailing;
    const account = await useDownloads(log.store, 4);
    await mailing.models.caughtUp();
    const { pool } = models;
    await pool.query(
      "insert into mail_claims select event_id, 'another process' from usage_warnings where stream = $1",
      [account.stream],
    );
    const patient = start({ everyMs: 5 });
    const other = await useDownloads(log.store, 4);
    await mailed(log.store, other, 1);
    await patient.stop();
    expect(mailsTo(server.received, account)).toEqual([]);
    await pool.query("update mail_claims set claimed_at = claimed_at - interval '6 minutes'");
    start();
    await mailed(log.store, account, 1);
    await waitFor(async () => (await pool.query('select from mail_claims')).rowCount === 0, {
      what: 'the claims to be gone',
    });
  });
});

describe('a rebuild of the warnings', () => {
  it('mails nobody twice, whether some are mailed and others not', async () => {
    const { server, start, models } = mailing;
    const before = start();
    const done = await useDownloads(log.store, 5);
    await mailed(log.store, done, 2);
    await before.stop();
    const waiting = await useDownloads(log.store, 5);
    await mailing.models.caughtUp();
    const rebuilt = await rebuild(usageAndJobs, {
      store: log.store,
      macs: testMacs,
      pool: models.pool,
      progress: () => undefined,
    });
    expect(rebuilt.tables).toContainEqual(expect.objectContaining({ name: 'usage_warnings', missing: 0, surplus: 0 }));
    start();
    await mailed(log.store, waiting, 2);
    expect(mailsTo(server.received, done)).toHaveLength(1);
    expect(mailsTo(server.received, waiting)).toHaveLength(1);
  });

  it('from nothing, with a dispatcher at work all the while, neither', async () => {
    const { server, start, stopProjecting } = mailing;
    const before = start();
    const accounts = await Promise.all([1, 2, 3].map(() => useDownloads(log.store, 5)));
    for (const account of accounts) await mailed(log.store, account, 2);
    await before.stop();
    await stopProjecting();
    const mails = server.received.length;
    const empty = await readModelsOfTest(log.store);
    start({ pool: empty.pool });
    empty.run(log.store, usageAndJobs);
    const last = await useDownloads(log.store, 4);
    await mailed(log.store, last, 1);
    expect(mailsTo(server.received, last)).toHaveLength(1);
    expect(server.received).toHaveLength(mails + 1);
  });

  it('that shows what is mailed as waiting, because it is behind, neither', async () => {
    const { server, start, models } = mailing;
    const before = start();
    const account = await useDownloads(log.store, 5);
    await mailed(log.store, account, 2);
    await before.stop();
    await mailing.models.caughtUp();
    await mailing.stopProjecting();
    await models.pool.query('update usage_warnings set message_id = null');
    const other = await useDownloads(log.store, 4);
    const [warning] = (await log.store.read(other.stream, 0)).filter(({ type }) => type === 'UsageWarningReached');
    await models.pool.query(`insert into usage_warnings values ($1, $2, $3, 0, 'downloads', 80, 4, 5, $4)`, [
      warning!.id,
      other.accountId,
      other.stream,
      '2026-11-14T13:00:00.000Z',
    ]);
    start();
    await mailed(log.store, other, 1);
    expect(mailsTo(server.received, account)).toHaveLength(1);
  });
});
