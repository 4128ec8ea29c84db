import { describe, expect, it } from 'vitest';
import { documentMails, measureWaitingDocumentMails } from '../../projections/document-mails.ts';
import { rebuild } from '../../projections/runner/rebuild.ts';
import { invitePerson, removePerson } from '../../src/commands/accounts.ts';
import { askDocumentMails } from '../../src/commands/ask-document-mails.ts';
import { addMetadata, ownCause } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { changeIssuerDetails } from '../../src/commands/issuer.ts';
import { readMailsOfDocument } from '../../src/commands/mails-of-document.ts';
import { newStaffCache } from '../../src/commands/staff.ts';
import type { InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { openingInvoice } from '../../src/domain/invoice-lines.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { freshCause, midNovember, readUsage, type UsageAccount } from '../commands/usage-account.ts';
import { testMacs } from '../projections/read-models-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { mailerTo, mailingUnderTest, mailsTo, openOwned } from './mailing.ts';

const log = logUnderTest();
const mailing = mailingUnderTest(log);

const dependencies = () => ({ store: log.store, now: () => midNovember, newUuid, newId, randomBits });
const staff = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'half a day away' } as const;
const request = () => ({ correlationId: newUuid(), actor: staff, timeoutMs: patienceMs });

async function invite({ accountId }: UsageAccount, email = `${newUuid()}@example.com`) {
  const person = await invitePerson(dependencies(), { accountId, email, ...request() });
  if (isRefused(person)) throw new Error(person.refusal);
  return person;
}

const remove = ({ accountId }: UsageAccount, personId: string) =>
  removePerson(dependencies(), { accountId, personId, ...request() });

async function credit({ accountId }: UsageAccount, reference = 'CASE-1', mails?: boolean): Promise<void> {
  const note = { account_id: accountId, reference, invoice_number: 1, line: 1, cents: 1 };
  const asked = {
    credit: note,
    cause: ownCause(newUuid(), staff),
    timeoutMs: patienceMs,
    ...(mails !== undefined && { mails }),
  };
  expect(isRefused(await issueCreditNotes(dependencies(), asked))).toBe(false);
}

interface Recorded {
  document_event_id: string;
  person_id: string;
  message_id: string | null;
}

async function recorded({ accountId }: UsageAccount): Promise<Recorded[]> {
  const events = await log.store.read(`invoices-${accountId}`, 0);
  return events.filter(({ type }) => type === 'DocumentMailed').map(({ data }) => data as Recorded);
}

const mailed = (account: UsageAccount, count: number): Promise<Recorded[]> =>
  waitFor(
    async () => {
      const mails = await recorded(account);
      return mails.length >= count && mails;
    },
    { what: `${count} mails about documents of ${account.accountId}` },
  );

/** By support, about the first invoice. */
async function askAgain({ accountId }: UsageAccount, mailTo: readonly string[], commandId = newUuid()) {
  const [invoice] = await log.store.read(`invoices-${accountId}`, 0);
  const order = { by: { operator: staff }, commandId, timeoutMs: patienceMs };
  const asked = { accountId, documentId: invoice!.id, mailTo };
  return askDocumentMails({ ...dependencies(), staffCache: newStaffCache() }, { ...asked, ...order });
}

const stateOfMails = async ({ accountId }: UsageAccount) =>
  (await readMailsOfDocument(log.store, { accountId, type: 'InvoiceIssued', number: 1 }))?.mails.map(
    ({ person_id, state }) => [person_id, state],
  );

const openerOf = ({ accountId }: UsageAccount) => accountId.replace('acc_', 'per_');

describe('mails about documents', () => {
  it('go to everybody of the account once, with a link, and are recorded with their Message-ID', async () => {
    const { server, startDocuments } = mailing;
    startDocuments();
    const account = await openOwned(log.store);
    const [first] = await mailed(account, 1);
    const [invoice] = await log.store.read(`invoices-${account.accountId}`, 0);
    expect(first).toMatchObject({ document_event_id: invoice!.id, person_id: openerOf(account) });
    const ada = await invite(account);
    await credit(account);
    const mails = await mailed(account, 3);
    const [, note] = (await log.store.read(`invoices-${account.accountId}`, 0)).filter(
      ({ type }) => type !== 'DocumentMailed',
    );
    const idOf = (personId: string) => `<${note!.id}-${personId}@reeltally.test>`;
    expect(mails.slice(1).toSorted((one, other) => (one.person_id < other.person_id ? -1 : 1))).toEqual(
      [openerOf(account), ada.personId].sort().map((id) => ({
        account_id: account.accountId,
        document_event_id: note!.id,
        person_id: id,
        message_id: idOf(id),
      })),
    );
    const [toOwner, creditToOwner] = mailsTo(server.taken, account);
    expect(toOwner!.raw).toContain('Subject: Invoice INV-');
    expect(toOwner!.raw).toContain('https://reeltally.test/console/invoices/1');
    expect(creditToOwner!.raw).toContain('https://reeltally.test/console/credit-notes/1');
    expect(server.taken.filter(({ to }) => to === ada.email)).toHaveLength(1);
    expect(server.received).toHaveLength(3);
    const [event] = (await log.store.read(`invoices-${account.accountId}`, 0)).filter(
      ({ type }) => type === 'DocumentMailed',
    );
    expect(event!.metadata).toMatchObject({
      actor: { type: 'system', id: 'document-mails' },
      $causationId: invoice!.id,
    });
  });

  it('leave out who was removed before, and say so in the log', async () => {
    const { server, startDocuments, models } = mailing;
    const account = await openOwned(log.store);
    const ada = await invite(account);
    await credit(account);
    await remove(account, ada.personId);
    startDocuments();
    const mails = await mailed(account, 3);
    const messageIdOf = (personId: string) => mails.find((one) => one.person_id === personId)?.message_id;
    expect(messageIdOf(ada.personId)).toBeNull();
    expect(messageIdOf(openerOf(account))).toMatch(/^<.*>$/);
    expect(server.received.filter(({ to }) => to === ada.email)).toEqual([]);
    await waitFor(async () => (await measureWaitingDocumentMails(models.pool, midNovember)).count === 0, {
      what: 'the read model to follow',
    });
  });

  it('wait for a signed head that covers the document, and not for ever', async () => {
    const { server, startDocuments } = mailing;
    const [waits, late] = [await openOwned(log.store), await openOwned(log.store)];
    const [invoice] = await log.store.read(`invoices-${waits.accountId}`, 0);
    const signed: { note?: string } = {};
    let asked = 0;
    const loop = startDocuments({
      readNote: async (eventId) => {
        if (eventId !== invoice?.id) return undefined;
        asked += 1;
        return signed.note;
      },
    });
    await waitFor(() => asked > 0, { what: 'the mail to be looked at' });
    signed.note =
      'reeltally.test/tlog\n7\nlqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=\n\n— reeltally.test/tlog c2lnbmVk\n';
    await mailed(waits, 1);
    expect(asked).toBeGreaterThan(1);
    expect(mailsTo(server.taken, waits)[0]?.raw).toContain('reeltally.test/tlog');
    expect(mailsTo(server.taken, late)).toEqual([]);
    await loop.stop();
    // A minute later nothing is signed still.
    const minuteLater = new Date(Date.parse(midNovember) + 60_000).toISOString();
    startDocuments({ now: () => minuteLater, readNote: async () => undefined });
    await mailed(late, 1);
    expect(mailsTo(server.taken, late)[0]?.raw).not.toContain('signed log');
  });

  it('tell the issuer by the name of that time', async () => {
    const { server, startDocuments } = mailing;
    const rename = (name: string) =>
      changeIssuerDetails(dependencies(), {
        name: 'unused',
        details: { name, email: 'ask@example.com' },
        ...request(),
      });
    const account = await openOwned(log.store);
    await rename('Before');
    await credit(account);
    await rename('After');
    startDocuments();
    await mailed(account, 2);
    const texts = mailsTo(server.taken, account).map(({ raw }) => raw);
    expect(texts.find((text) => text.includes('credit-notes/1'))).toMatch(/Before\r\nhas issued[^]*ask@example\.com/);
    expect(texts.join()).not.toContain('After');
  });

  it('that are refused for one person hold up nobody else', async () => {
    const { server, startDocuments } = mailing;
    const account = await openOwned(log.store, { fee_cents: 100 });
    const ada = await invite(account);
    let refusals = 0;
    server.treat(({ to }) => (to === ada.email && refusals++ < 3 ? 550 : 'take'));
    await credit(account);
    startDocuments();
    await mailed(account, 3);
    expect(server.received.filter(({ to }) => to === ada.email)).toHaveLength(4);
    expect(mailsTo(server.received, account)).toHaveLength(2);
  });

  it('are sent once by two dispatchers that both think they lead', async () => {
    const { server, startDocuments, models } = mailing;
    server.treat(() => new Promise((resolve) => setTimeout(resolve, 5, 'take')));
    const accounts = await Promise.all(Array.from({ length: scaled(8, 50) }, () => openOwned(log.store)));
    for (const account of accounts) {
      await invite(account);
      await credit(account);
    }
    for (let process = 0; process < 2; process += 1)
      startDocuments({ pool: models.openAnother(), mailer: mailerTo(server) });
    for (const account of accounts) {
      await mailed(account, 3);
      expect(mailsTo(server.received, account)).toHaveLength(2);
    }
    expect(server.received).toHaveLength(3 * accounts.length);
  });

  it('are sent to nobody where the one who issues says so', async () => {
    const { server, startDocuments } = mailing;
    const silent = await openOwned(log.store);
    await credit(silent, 'CASE-1', false);
    startDocuments();
    const later = await openOwned(log.store);
    await mailed(later, 1);
    await mailed(silent, 1);
    expect(mailsTo(server.received, silent).map(({ raw }) => raw.includes('credit-notes'))).toEqual([false]);
    const [, note] = await log.store.read(`invoices-${silent.accountId}`, 0);
    expect(note).toMatchObject({ type: 'CreditNoteIssued', data: { mail_to: [] } });
  });

  it('are sent to nobody about what was issued before documents said who is mailed', async () => {
    const { server, startDocuments, models } = mailing;
    const account = await openOwned(log.store, { fee_cents: 0 });
    const [opened] = await readUsage(log.store, account.stream);
    const draft = openingInvoice(opened as Parameters<typeof openingInvoice>[0]);
    const stream = `invoices-${account.accountId}`;
    const fee = { ...draft.lines[0]!, cents: 5 };
    const data: InvoiceIssued = { number: 1, ...draft, lines: [fee], currency: 'USD', total_cents: 5 };
    const point = {
      stream,
      expected: 'no_stream',
      previousHash: firstPreviousHash(stream),
      time: midNovember,
    } as const;
    const { events } = addMetadata([{ event: { type: 'InvoiceIssued', data }, cause: freshCause() }], point);
    expect(await log.store.append(stream, 'no_stream', events)).toBe('stored');
    await models.caughtUp();
    startDocuments();
    const later = await openOwned(log.store);
    await mailed(later, 1);
    expect(mailsTo(server.received, account)).toEqual([]);
    expect(await recorded(account)).toEqual([]);
  });

  it('are not sent again while their read model begins anew, beside rows that it finds there', async () => {
    const { server, startDocuments, stopProjecting, models } = mailing;
    startDocuments();
    const done = await openOwned(log.store);
    await mailed(done, 1);
    await models.caughtUp();
    await stopProjecting();
    await models.pool.query("delete from checkpoints where name = 'document_mails'");
    await models.pool.query('update document_mails set waiting = jsonb_build_array($2::text) where account_id = $1', [
      done.accountId,
      openerOf(done),
    ]);
    models.run(log.store, documentMails);
    const later = await openOwned(log.store);
    await mailed(later, 1);
    expect(mailsTo(server.received, done)).toHaveLength(1);
    const { rows } = await models.pool.query('select waiting from document_mails where account_id = $1', [
      done.accountId,
    ]);
    expect(rows).toEqual([{ waiting: [] }]);
  });

  it('are not sent again after a rebuild, nor by a read model that is behind', async () => {
    const { server, startDocuments, stopProjecting, models } = mailing;
    const before = startDocuments();
    const done = await openOwned(log.store);
    await mailed(done, 1);
    await before.stop();
    const waiting = await openOwned(log.store);
    await models.caughtUp();
    const rebuilt = await rebuild(documentMails, {
      store: log.store,
      macs: testMacs,
      pool: models.pool,
      progress: () => undefined,
    });
    expect(rebuilt.tables).toContainEqual(expect.objectContaining({ name: 'document_mails', missing: 0, surplus: 0 }));
    await stopProjecting();
    // Older than the other, so that it is looked at before.
    await models.pool.query(
      "update document_mails set waiting = jsonb_build_array($2::text), time = time - interval '1 day' where account_id = $1",
      [done.accountId, openerOf(done)],
    );
    startDocuments();
    await mailed(waiting, 1);
    expect(mailsTo(server.received, done)).toHaveLength(1);
    expect(mailsTo(server.received, waiting)).toHaveLength(1);
    expect(await recorded(done)).toHaveLength(1);
  });
});

describe('mails about documents that support asks for again', () => {
  it('are sent once more, under a Message-ID of their own, also to somebody who has joined since', async () => {
    const { server, startDocuments } = mailing;
    startDocuments();
    const account = await openOwned(log.store);
    await mailed(account, 1);
    const ada = await invite(account);
    const opener = openerOf(account);
    expect(isRefused(await askAgain(account, [opener, ada.personId]))).toBe(false);
    const [first, ...again] = await mailed(account, 3);
    const events = await log.store.read(`invoices-${account.accountId}`, 0);
    const asking = events.find(({ type }) => type === 'DocumentMailAsked')!;
    expect(asking.metadata).toMatchObject({ actor: staff });
    expect(asking.data).toMatchObject({ document_event_id: events[0]!.id, document_revision: 0 });
    expect(again.map(({ document_event_id: id }) => id)).toEqual([asking.id, asking.id]);
    expect(new Set([first!, ...again].map(({ message_id: id }) => id)).size).toBe(3);
    const record = events.findLast(({ type }) => type === 'DocumentMailed')!;
    expect(record.metadata).toMatchObject({ $causationId: asking.id });
    const [before, after] = mailsTo(server.received, account);
    expect(after!.raw).toMatch(/^Subject: Invoice INV-/m);
    expect(after!.raw).toContain('This mail was asked for again');
    expect(after!.raw).toContain('https://reeltally.test/console/invoices/1');
    expect(before!.raw).not.toContain('asked for again');
    expect(server.received.filter(({ to }) => to === ada.email)).toHaveLength(1);
    expect(await stateOfMails(account)).toEqual([
      [ada.personId, 'taken'],
      [opener, 'taken'],
      [opener, 'taken'],
    ]);
  });

  it('are asked for once by a form that is sent twice, and not while one waits', async () => {
    const { startDocuments } = mailing;
    const account = await openOwned(log.store);
    const opener = openerOf(account);
    expect(await askAgain(account, [opener])).toEqual({ refusal: 'mail_waits' });
    const mailer = startDocuments();
    await mailed(account, 1);
    await mailer.stop();
    const form = newUuid();
    for (let times = 0; times < 2; times += 1) expect(isRefused(await askAgain(account, [opener], form))).toBe(false);
    expect(await stateOfMails(account)).toEqual([
      [opener, 'waits'],
      [opener, 'taken'],
    ]);
    expect(await askAgain(account, [opener])).toEqual({ refusal: 'mail_waits' });
    startDocuments();
    await mailed(account, 2);
    // The same form once more, behind its mail.
    expect(await askAgain(account, [opener], form)).toMatchObject({ events: [] });
    expect((await stateOfMails(account))?.length).toBe(2);
  });

  it('are for people of the account, and go to nobody who was removed', async () => {
    const { server, startDocuments } = mailing;
    const account = await openOwned(log.store);
    const ada = await invite(account);
    expect(await askAgain(account, [newId('per')])).toEqual({ refusal: 'person_not_found' });
    expect(isRefused(await askAgain(account, [ada.personId]))).toBe(false);
    await remove(account, ada.personId);
    startDocuments();
    await mailed(account, 2);
    expect(await stateOfMails(account)).toEqual([
      [ada.personId, 'not_needed'],
      [openerOf(account), 'taken'],
    ]);
    expect(server.received.filter(({ to }) => to === ada.email)).toEqual([]);
    expect(await askAgain(account, [ada.personId])).toEqual({ refusal: 'person_not_found' });
  });

  it('are recorded once by the next dispatcher, when one ends between taking and recording', async () => {
    const { server, startDocuments, models } = mailing;
    const first = startDocuments();
    const account = await openOwned(log.store);
    await mailed(account, 1);
    await first.stop();
    await models.caughtUp();
    expect(isRefused(await askAgain(account, [openerOf(account)]))).toBe(false);
    // What it appends is lost, as with the process; what it has noted in Postgres is not.
    const append = () => Promise.resolve('not_sent' as const);
    const store = new Proxy(log.store, {
      get: (target, name) => {
        if (name === 'append') return append;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const killed = startDocuments({ store, recordTimeoutMs: 200, staleClaimSeconds: 1 });
    await waitFor(() => mailsTo(server.received, account).length === 2, { what: 'the second mail' });
    await killed.stop();
    expect(await recorded(account)).toHaveLength(1);
    startDocuments({ staleClaimSeconds: 1 });
    const [, again] = await mailed(account, 2);
    expect(mailsTo(server.received, account)).toHaveLength(2);
    expect(mailsTo(server.received, account)[1]!.raw).toContain(again!.message_id);
    await models.caughtUp();
    expect((await measureWaitingDocumentMails(models.pool, midNovember)).count).toBe(0);
    expect(await recorded(account)).toHaveLength(2);
  });
});
