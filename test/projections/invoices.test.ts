import { beforeEach, describe, expect, it } from 'vitest';
import { invoices, readInvoices } from '../../projections/invoices.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { listInvoicesDue } from '../../projections/work-lists/due-periods.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { issueCreditNotes } from '../../src/commands/issue-credit-note.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import type { RecordedEvent } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { endAndClose } from '../commands/close-books.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import {
  ask,
  midNovember,
  openUsage,
  queueAll,
  upFrom,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { plan, token, waiveCommand } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { readModelsOfTest, type TestReadModels } from './read-models-under-test.ts';
import { rebuildOn, rowsOf } from './runner/rebuilding.ts';

const log = logUnderTest();
let models: TestReadModels;
beforeEach(async () => {
  models = await readModelsOfTest(log.store, [usageAndJobs, invoices]);
});

const actor = { type: 'system', id: 'test' } as const;
const december = '2026-12-01T00:00:00.000Z';

const issue = ({ stream }: UsageAccount, covers: 'opening' | 'period', now = december) =>
  issueInvoice({ store: log.store, now: () => now, newUuid }, { stream, covers, actor, timeoutMs: patienceMs });

/** The invoices due of an account, as the read model has them. */
async function dueOf({ accountId }: UsageAccount): Promise<string[]> {
  await models.caughtUp();
  const due = await listInvoicesDue(models.pool, { except: [], limit: 1_000 });
  return due
    .filter(({ account_id: id }) => id === accountId)
    .map(({ opening_invoice_due: opening, period_invoice_due: period }) =>
      [opening && 'opening', period && 'period'].filter(Boolean).join(' and '),
    );
}

describe('what is due', () => {
  it.each([
    ['nothing while there is no fee', { fee_cents: 0 }, 0, [], []],
    ['the first fee, then the next', {}, 0, ['opening'], ['opening and period']],
    ['overage alone', { fee_cents: 0 }, 3, [], ['period']],
  ] as const)('is %s', async (_what, terms, downloads, atOpening, atClose) => {
    const account = await openUsage(log.store, terms);
    expect(await dueOf(account)).toEqual(atOpening);
    await queueAll(writersOf(log.store), account, upFrom(1, downloads));
    await endAndClose(log.store, account, december);
    expect(await dueOf(account)).toEqual(atClose);
    expect((await rebuildOn(log.store, models, usageAndJobs)).tables).toMatchObject([
      { name: 'credits', missing: 0, surplus: 0 },
      { name: 'jobs', missing: 0, surplus: 0 },
      { name: 'idempotency_keys', missing: 0, surplus: 0 },
      { name: 'usage_warnings', missing: 0, surplus: 0 },
      { name: 'usage_changes', missing: 0, surplus: 0 },
      { name: 'job_days', missing: 0, surplus: 0 },
    ]);
    expect(await dueOf(account)).toEqual(atClose);
    await issue(account, 'opening');
    await issue(account, 'period');
    expect(await dueOf(account)).toEqual([]);
  });

  it('is nothing where all overage was waived or voided, and a rise of the fee even if the next one is none', async () => {
    const given = { fee_cents: 0, downloads_limit: 0 };
    const [back, risen] = [await openUsage(log.store, given), await openUsage(log.store, given)];
    await queueAll(writersOf(log.store), back, [1, 2]);
    await correct(log.store, back.stream, { kind: 'void_download', token: token(1) });
    await correct(log.store, back.stream, waiveCommand(token(2), 'CASE-1'));
    const { fee_cents: _fee, ...others } = plan;
    const change = (fee_cents: number, effective: 'now' | 'next_period') =>
      ask(writersOf(log.store), risen, { kind: 'change_plan', terms: { ...others, fee_cents }, effective });
    await change(500, 'now');
    await change(0, 'next_period');
    for (const account of [back, risen]) await endAndClose(log.store, account, december);
    expect(await dueOf(back)).toEqual([]);
    expect(await issue(back, 'period')).toBeUndefined();
    expect(await dueOf(risen)).toEqual(['period']);
    expect(await issue(risen, 'period')).toMatchObject({ number: 1, total_cents: 500 });
    expect(await dueOf(risen)).toEqual([]);
  });
});

const placeOf = ({ data, id, position }: RecordedEvent) => ({ data, eventId: id, position });

describe('the read model of invoices', () => {
  it('has invoices and credit notes as they were issued, also when it is rebuilt', async () => {
    const account = await openUsage(log.store);
    const { accountId } = account;
    await issue(account, 'opening', midNovember);
    const note = { account_id: accountId, reference: 'CASE-7', invoice_number: 1, line: 1, cents: 40 };
    const staff = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'half a day away' } as const;
    await issueCreditNotes(
      { store: log.store, now: () => december },
      { credit: note, cause: ownCause(newUuid(), staff), timeoutMs: patienceMs },
    );
    await models.caughtUp();
    const recorded = await log.store.read(`invoices-${accountId}`, 0);
    const read = await readInvoices(models.pool, accountId);
    expect(read).toEqual({
      invoices: [{ ...placeOf(recorded[0]!), revision: 0, issuedAt: midNovember, actor }],
      creditNotes: [{ ...placeOf(recorded[1]!), revision: 1, issuedAt: december, actor: staff }],
    });
    expect(JSON.stringify(read.invoices[0]!.data)).toBe(JSON.stringify(recorded[0]!.data));
    const before = await rowsOf(models, invoices);
    const rebuilt = await rebuildOn(log.store, models, invoices);
    expect(rebuilt.tables).toMatchObject([{ name: 'invoices', missing: 0, surplus: 0 }]);
    expect(await rowsOf(models, invoices)).toEqual(before);
  });
});
