import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { startMailServer, type TestMailServer, type Treatment } from '../support/mail-server.ts';
import { planFile } from '../support/plans.ts';
import { withClient } from '../support/postgres.ts';
import { scaled } from '../support/proof-scale.ts';
import { readMetric, scrapeWhole, valueOf } from '../support/scraped-metrics.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Warnings by mail as an owner gets them: real processes, a real mail server, and kills at the worst instant. */
const plans = planFile({ downloads_limit: 5, warningPercents: [80, 100] });
const installation = installationOfFile({ PLANS_FILE: plans });
let mailServer: TestMailServer;
let api: ServiceProcess;

beforeAll(async () => {
  mailServer = await startMailServer();
  await installation.startRole('projector');
  api = await installation.startRole('api');
});

afterAll(() => mailServer.close());

const startDispatcher = () =>
  installation.startRole('dispatcher', { SMTP_URL: mailServer.url, MAIL_FROM: 'billing@reeltally.test' });

/** An account that has used four of its five downloads. */
async function warnedAccount(): Promise<{ accountId: string; key: string }> {
  const { accountId, key } = await installation.openAccount();
  const body = { url: installation.sampleUrl('private') };
  for (let number = 0; number < 4; number += 1) {
    expect((await call(api.url, '/video/download', { key, body })).status).toBe(202);
  }
  return { accountId, key };
}

const mailedOf = async (accountId: string) =>
  (await installation.readLog(`usage-${accountId}-`))
    .filter(({ type }) => type === 'UsageWarningMailed')
    .map(({ data }) => (data as { message_id: string }).message_id);

const mailed = (accountId: string, count = 1) =>
  waitFor(
    async () => {
      const ids = await mailedOf(accountId);
      return ids.length >= count && ids;
    },
    { what: `${count} mails of ${accountId}` },
  );

const idsOfMailsAbout = (accountId: string) =>
  mailServer.received.filter(({ raw }) => raw.includes(accountId)).map(({ messageId }) => messageId);

const queryWarningMails = (statement: string): Promise<number> =>
  withClient(installation.environment.DATABASE_URL, async (client) => (await client.query(statement)).rowCount ?? 0);

/** The mail server has the mail, and whoever sent it never hears of it. */
async function killWhileMailing(): Promise<void> {
  const killed = Promise.withResolvers<undefined>();
  const starting = startDispatcher();
  mailServer.treat(async (): Promise<Treatment> => {
    await (await starting).kill();
    killed.resolve(undefined);
    return 'take';
  });
  await killed.promise;
  await queryWarningMails("update mail_claims set claimed_at = claimed_at - interval '10 minutes'");
}

/** The log answers nobody once the mail is taken: that is noted, and cannot be recorded. */
async function killOnceNoted(): Promise<void> {
  mailServer.treat(() => {
    installation.silenceEventStore();
    return 'take';
  });
  const dispatcher = await startDispatcher();
  await waitFor(async () => (await queryWarningMails('select from mail_claims where taken_at is not null')) === 1, {
    what: 'the mail to be noted as taken',
  });
  await dispatcher.kill();
  installation.wakeEventStore();
}

const countOf = async (process: ServiceProcess, name: string) => (await readMetric(process.url, name)) ?? 0;

describe('a dispatcher that is killed', () => {
  test.each([
    { instant: 'before it has noted the answer of the mail server sends the same Message-ID again', mails: 2 },
    { instant: 'between its note of that answer and its event sends nothing again', mails: 1 },
  ])('$instant, and one event is stored', async ({ mails }) => {
    for (let round = 0; round < scaled(1, 10); round += 1) {
      const { accountId } = await warnedAccount();
      await (mails === 2 ? killWhileMailing() : killOnceNoted());
      mailServer.treat(() => 'take');
      const second = await startDispatcher();
      const [id] = await mailed(accountId);
      const sent = Array.from({ length: mails }, () => id);
      expect(idsOfMailsAbout(accountId)).toEqual(sent);
      expect(await mailedOf(accountId)).toEqual([id]);
      await second.stop();
      // A third finds nothing left to do.
      const third = await startDispatcher();
      const { accountId: last } = await warnedAccount();
      await mailed(last);
      expect(idsOfMailsAbout(accountId)).toEqual(sent);
      await third.stop();
    }
  });
});

describe('while the mail server is away', () => {
  test('everything else goes on, and the mails follow when it is back', async () => {
    await mailServer.close();
    await using dispatcher = await startDispatcher();
    const { accountId, key } = await warnedAccount();
    const failed = async () => (await countOf(dispatcher, 'reeltally_mail_failures_total')) > 0;
    await waitFor(failed, { what: 'an attempt in vain' });
    const { metrics } = await scrapeWhole(dispatcher.url);
    expect(valueOf(metrics, 'reeltally_mails_waiting', { about: 'warning' })).toBe(1);
    expect(valueOf(metrics, 'reeltally_oldest_waiting_mail_seconds', { about: 'warning' })).toBeGreaterThan(0);
    // A download is accepted and reaches the work queue all the same.
    const queue = async () => countOf(dispatcher, 'reeltally_queue_pending_messages');
    const before = await queue();
    const body = { url: installation.sampleUrl('bars') };
    expect((await call(api.url, '/video/download', { key, body })).status).toBe(202);
    await waitFor(async () => (await queue()) > before, { what: 'the download to be dispatched' });
    mailServer = await startMailServer({ port: mailServer.port });
    const ids = await mailed(accountId, 2);
    expect(idsOfMailsAbout(accountId).sort()).toEqual(ids.toSorted());
    expect(dispatcher.log()).not.toContain('owner@example.com');
  });
});
