import { describe, expect, it } from 'vitest';
import {
  type CreditedCharge,
  decideInvoices,
  evolveInvoices,
  initialInvoices,
  type InvoiceDraft,
  type Invoices,
  lineLeft,
  type LineNote,
} from '../../src/domain/invoice.ts';
import type { CreditNoteIssued, InvoiceEvent, InvoiceLine } from '../../src/domain/invoice-events.ts';
import { openingInvoice, periodInvoice, rangesOf } from '../../src/domain/invoice-lines.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { periodClosed } from '../../src/domain/usage-periods.ts';
import { sum } from '../support/sum.ts';
import {
  accountId,
  charge,
  closed,
  credit,
  ended,
  given,
  hashOf,
  idOf,
  opened,
  parsed,
  planChanged,
  queued,
  token,
  voidOf,
  waiverOf,
} from './usage-examples.ts';

const stream = `usage-${accountId}-20261101`;
const sourceOf = (revision: number) => ({ stream, revision, id: idOf(revision), hash: hashOf(revision) });

const stored = (events: readonly UsageEvent[]) => events.map((event, revision) => parsed(event, revision));
/** The first rate of the examples, and one after a change. */
const rate = { rate_cents: 25, rate_version: '2026-11' };
const newRate = { rate_cents: 12, rate_version: 'v2' };
const period = { period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z' };
const closedWith = (...events: UsageEvent[]) => [...events, ended(), periodClosed(given(...events, ended()))];

const nextFee = (revision: number, cents = 1900) => ({
  kind: 'fee',
  plan: 'dev_100',
  cents,
  event: sourceOf(revision),
  period_start: '2026-12-01T00:00:00.000Z',
  period_end: '2027-01-01T00:00:00.000Z',
});

describe('what a period comes to', () => {
  it('begins with the first fee, due at opening', () => {
    expect(openingInvoice(parsed(opened(), 0))).toEqual({
      account_id: accountId,
      covers: 'opening',
      ...period,
      lines: [{ kind: 'fee', plan: 'dev_100', ...period, cents: 1900, event: sourceOf(0) }],
    });
  });

  it('is its overage by rate, what was waived of it, what upgrades added, and the next fee', () => {
    const events = closedWith(
      opened({ downloads_limit: 0 }),
      charge(1),
      charge(2),
      queued(2, true),
      charge(3),
      planChanged({ overage_cents: 12, rate_version: 'v2' }, 4000),
      charge(4, 12, 'v2'),
      waiverOf(3, 4, { cents: 10 }),
      voidOf(2, 25, 2),
    );
    expect(periodInvoice(stored(events)).lines).toEqual([
      { kind: 'overage', ...rate, quantity: 2, cents: 50, stream, revisions: [[1, 4, 3]] },
      { kind: 'overage', ...newRate, quantity: 1, cents: 12, stream, revisions: [[6, 6, 1]] },
      { kind: 'waivers', ...rate, quantity: 1, cents: -10, stream, revisions: [[7, 7, 1]] },
      { kind: 'fee_difference', plan: 'dev_100', cents: 4000, event: sourceOf(5) },
      nextFee(9),
    ]);
  });

  it('has no line for a waiver of what was voided after all', () => {
    const corrections = [waiverOf(1, 1, { cents: 10 }), voidOf(1, 15, 1)];
    const events = closedWith(opened({ downloads_limit: 0 }), charge(1), ...corrections);
    expect(periodInvoice(stored(events)).lines).toEqual([nextFee(4)]);
  });

  it('is nothing without overage and fees', () => {
    const events = [opened(), credit(1), ended({ fee_cents: 0 })];
    const draft = periodInvoice(stored([...events, periodClosed(given(...events))]));
    expect(draft.lines).toEqual([]);
    expect(decideInvoices(initialInvoices, { kind: 'issue_invoice', draft, mailTo })).toEqual([]);
  });

  it('says which period of which account it is for', () => {
    const events = closedWith(opened());
    expect(periodInvoice(stored(events))).toMatchObject({ account_id: accountId, covers: 'period', ...period });
  });

  it('has a line of waivers for each rate', () => {
    const changed = planChanged({ overage_cents: 12, rate_version: 'v2' });
    const charges = [charge(1), changed, charge(2, 12, 'v2')];
    const waivers = [waiverOf(1, 1, { cents: 10 }), waiverOf(2, 3, { cents: 5 })];
    const events = closedWith(opened({ downloads_limit: 0 }), ...charges, ...waivers);
    expect(periodInvoice(stored(events)).lines.filter(({ kind }) => kind === 'waivers')).toEqual([
      { kind: 'waivers', ...rate, quantity: 1, cents: -10, stream, revisions: [[4, 4, 1]] },
      { kind: 'waivers', ...newRate, quantity: 1, cents: -5, stream, revisions: [[5, 5, 1]] },
    ]);
  });

  /** Charges that are named by so many ranges: two neighbours, and a gap. */
  const inRanges = (count: number, first: number, rateVersion: string) =>
    Array.from({ length: 2 * count }, (_, index) =>
      parsed(charge(1, 25, rateVersion), first + 2 * index - (index % 2)),
    );
  const rangesOfLines = (...charges: ReturnType<typeof inRanges>) => {
    const end = [ended(), closed].map((event, index) => parsed(event, 200_000 + index));
    const { lines } = periodInvoice([parsed(opened(), 0), ...charges, ...end]);
    return lines.flatMap((line) => (line.kind === 'overage' ? [line.revisions] : []));
  };

  it('names the charges of a line by at most 5 000 ranges, else by one', () => {
    expect(rangesOfLines(...inRanges(5_000, 1, 'v1')).map(({ length }) => length)).toEqual([5_000]);
    expect(rangesOfLines(...inRanges(5_001, 1, 'v1'))).toEqual([[[1, 20_002, 1]]]);
  });

  it('names the charges of all lines by at most 10 000 ranges, and one more for each line that has none left', () => {
    const full = [...inRanges(5_000, 1, 'v1'), ...inRanges(5_000, 30_000, 'v2')];
    const lines = rangesOfLines(...full, ...inRanges(2, 60_000, 'v3'));
    expect(lines.map(({ length }) => length)).toEqual([5_000, 5_000, 1]);
    expect(lines[2]).toEqual([[60_000, 60_005, 1]]);
  });

  it('is not known before its books are closed', () => {
    expect(() => periodInvoice(stored([opened(), closed]))).toThrow('not closed');
    expect(() => periodInvoice(stored([opened(), ended()]))).toThrow('not closed');
  });

  it.each([
    [[], []],
    [[7], [[7, 7, 1]]],
    [[1, 3, 5, 7], [[1, 7, 2]]],
    [
      [1, 2, 9, 11, 13, 14],
      [
        [1, 2, 1],
        [9, 13, 2],
        [14, 14, 1],
      ],
    ],
  ])('names the revisions %j by their ranges', (revisions, ranges) => {
    expect(rangesOf(revisions)).toEqual(ranges);
  });
});

const mailTo = ['per_aaaaaaaaaaaaaaaa'];
const draft: InvoiceDraft = {
  account_id: accountId,
  covers: 'period',
  ...period,
  lines: [
    { kind: 'overage', ...rate, quantity: 4, cents: 100, stream, revisions: [[1, 7, 2]] },
    { kind: 'waiver', reference: 'CASE-1', charge_event_id: idOf(3), cents: -10, event: sourceOf(9) },
  ],
};
const invoiced = (...events: InvoiceEvent[]): Invoices => events.reduce(evolveInvoices, initialInvoices);
const issued = (number: number, changed: Partial<InvoiceDraft> = {}): InvoiceEvent => ({
  type: 'InvoiceIssued',
  data: { number, ...draft, ...changed, currency: 'USD', total_cents: 90, mail_to: mailTo },
});

describe('an invoice', () => {
  it('has the next number, and the sum of its lines', () => {
    expect(decideInvoices(initialInvoices, { kind: 'issue_invoice', draft, mailTo })).toEqual([issued(1)]);
    const opening = issued(1, { covers: 'opening' });
    expect(decideInvoices(invoiced(opening), { kind: 'issue_invoice', draft, mailTo })).toEqual([issued(2)]);
  });

  it('is issued once for a period', () => {
    expect(decideInvoices(invoiced(issued(1)), { kind: 'issue_invoice', draft, mailTo })).toEqual([]);
  });
});

/** What is credited of a charge, by the revision of its event. */
const part = (revision: number, cents: number) => ({
  token: token(revision),
  charge_event_id: idOf(revision),
  cents,
});
/** A charge of which so many cents were left at the close, and the most that shall be credited of it. */
const charged = (revision: number, leftCents: number, cents = leftCents): CreditedCharge => ({
  token: token(revision),
  charge: { eventId: idOf(revision), revision, rate, cents: leftCents },
  cents,
});
const noteOf = (number: number, data: LineNote & Partial<CreditNoteIssued>): InvoiceEvent => ({
  type: 'CreditNoteIssued',
  data: { number, charges: [], ...data, currency: 'USD', mail_to: mailTo },
});

describe('a credit note', () => {
  const note: LineNote = { account_id: accountId, reference: 'CASE-9', invoice_number: 1, line: 1, cents: 60 };
  const credited = (number: number, changed: Partial<typeof note> = {}) => noteOf(number, { ...note, ...changed });
  const decide = (state: Invoices, changed: Partial<typeof note> = {}) =>
    decideInvoices(state, { kind: 'credit_line', note: { ...note, ...changed }, mailTo });

  it('gives back a part of a line, under a number of its own', () => {
    expect(decide(invoiced(issued(1)))).toEqual([credited(1)]);
  });

  it('of the same reference is issued once, and means one thing', () => {
    expect(decide(invoiced(issued(1), credited(1)))).toEqual([]);
    expect(decide(invoiced(issued(1), credited(1)), { cents: 61 })).toEqual({ refusal: 'reference_reused' });
    expect(decide(invoiced(issued(1), issued(2), credited(1)), { invoice_number: 2 })).toEqual({
      refusal: 'reference_reused',
    });
    expect(decide(invoiced(issued(1), credited(1)), { line: 2 })).toEqual({ refusal: 'reference_reused' });
  });

  it('may have the reference of one about charges', () => {
    const ofCharges = noteOf(1, { ...note, cents: 25, charges: [part(3, 25)] });
    expect(decide(invoiced(issued(1), ofCharges))).toEqual([credited(2)]);
  });

  it('never gives back more than the line or the invoice has', () => {
    const state = invoiced(issued(1), credited(1));
    expect(decide(state, { reference: 'CASE-10', cents: 30 })).toEqual([
      credited(2, { reference: 'CASE-10', cents: 30 }),
    ]);
    expect(decide(state, { reference: 'CASE-10', cents: 31 })).toEqual({ refusal: 'exceeds_charge' });
    expect(decide(invoiced(issued(1)), { line: 2, cents: 1 })).toEqual({ refusal: 'exceeds_charge' });
  });

  it('never gives back again what was waived before the close', () => {
    const fee = { kind: 'fee', plan: 'dev_100', ...period, cents: 1900, event: sourceOf(10) } as const;
    const invoice = issued(1, { lines: [...draft.lines, fee] });
    if (invoice.type === 'InvoiceIssued') invoice.data.total_cents = 1990;
    expect(decide(invoiced(invoice), { cents: 90 })).toHaveLength(1);
    expect(decide(invoiced(invoice), { cents: 91 })).toEqual({ refusal: 'exceeds_charge' });
    expect(decide(invoiced(invoice), { line: 3, cents: 1900 })).toHaveLength(1);
  });

  it('never gives back of a line what was waived of that line, though the invoice has other overage', () => {
    const invoice = twoRates(50);
    expect(decide(invoiced(invoice), { cents: 50 })).toHaveLength(1);
    expect(decide(invoiced(invoice), { cents: 51 })).toEqual({ refusal: 'exceeds_charge' });
    expect(decide(invoiced(invoice), { line: 2, cents: 120 })).toHaveLength(1);
  });

  it('needs an invoice and a line', () => {
    expect(decide(initialInvoices)).toEqual({ refusal: 'invoice_not_found' });
    expect(decide(invoiced(issued(1)), { line: 3 })).toEqual({ refusal: 'invoice_not_found' });
  });
});

/** An invoice of charges at two rates: four at 25 cents, of which some were waived, and ten at 12. */
function twoRates(waivedCents: number): InvoiceEvent {
  const lines: InvoiceLine[] = [
    ...draft.lines.slice(0, 1),
    { kind: 'overage', ...newRate, quantity: 10, cents: 120, stream, revisions: [[9, 18, 1]] },
    { kind: 'waivers', ...rate, quantity: 2, cents: -waivedCents, stream, revisions: [[20, 21, 1]] },
  ];
  const invoice = issued(1, { lines });
  if (invoice.type === 'InvoiceIssued') invoice.data.total_cents = 220 - waivedCents;
  return invoice;
}

describe('a credit note about charges', () => {
  const reference = 'CASE-9';
  const about = { account_id: accountId, reference, invoice_number: 1, line: 1 };
  const decide = (state: Invoices, charges: CreditedCharge[], changed: { reference?: string; stream?: string } = {}) =>
    decideInvoices(state, { kind: 'credit_charges', accountId, reference, stream, charges, mailTo, ...changed });
  const credited = (number: number, charges: ReturnType<typeof part>[], changed: Partial<LineNote> = {}) =>
    noteOf(number, { ...about, charges, cents: sum(charges.map(({ cents }) => cents)), ...changed });

  it('names each of them with what it gives back of it: so much, or what is left', () => {
    expect(decide(invoiced(issued(1)), [charged(1, 25), charged(3, 15, 10), charged(5, 25, 40)])).toEqual([
      credited(1, [part(1, 25), part(3, 10), part(5, 25)]),
    ]);
  });

  it('gives back what earlier ones have left, and passes over charges that have nothing', () => {
    const state = invoiced(issued(1), credited(1, [part(1, 25), part(3, 10)], { reference: 'CASE-1' }));
    const charges = [charged(1, 25), charged(3, 25), charged(5, 0)];
    expect(decide(state, charges)).toEqual([credited(2, [part(3, 15)])]);
    expect(decide(state, [charged(1, 25)])).toEqual({ refusal: 'nothing_to_give_back' });
    expect(decide(state, [charged(5, 0)])).toEqual({ refusal: 'nothing_to_give_back' });
    // One that was voided, and stands on no line.
    expect(decide(state, [charged(99, 0), charged(5, 25)])).toEqual([credited(2, [part(5, 25)])]);
  });

  it('is issued once under its reference, for any of its charges; one about others may have the same', () => {
    const state = invoiced(issued(1), credited(1, [part(1, 10)]));
    expect(decide(state, [charged(1, 25)])).toEqual([]);
    expect(decide(state, [charged(1, 25), charged(3, 25)])).toEqual([]);
    expect(decide(state, [charged(3, 25)])).toEqual([credited(2, [part(3, 25)])]);
    expect(decide(invoiced(issued(1), credited(1, [], { cents: 10 })), [charged(3, 25)])).toHaveLength(1);
    expect(decide(state, [charged(1, 25)], { reference: 'CASE-2' })).toEqual([
      credited(2, [part(1, 15)], { reference: 'CASE-2' }),
    ]);
  });

  it('is issued for each line that has some of them, and all stay within the invoice', () => {
    const ofNewRate = (revision: number): CreditedCharge => ({
      ...charged(revision, 12),
      charge: { ...charged(revision, 12).charge, rate: newRate },
    });
    const charges = [charged(1, 25), ofNewRate(9), charged(3, 25), ofNewRate(18)];
    expect(decide(invoiced(twoRates(0)), charges)).toEqual([
      credited(1, [part(1, 25), part(3, 25)]),
      credited(2, [part(9, 12), part(18, 12)], { line: 2 }),
    ]);
    const invoice = twoRates(0);
    if (invoice.type === 'InvoiceIssued') invoice.data.total_cents = 60;
    expect(decide(invoiced(invoice), charges)).toEqual([
      credited(1, [part(1, 25), part(3, 25)]),
      credited(2, [part(9, 10)], { line: 2 }),
    ]);
  });

  it('gives back no more than its line has left, the first of them first', () => {
    const state = invoiced(issued(1), credited(1, [], { cents: 60, reference: 'CASE-1' }));
    expect(decide(state, [charged(1, 25), charged(3, 25), charged(5, 25)])).toEqual([
      credited(2, [part(1, 25), part(3, 5)]),
    ]);
    const all = invoiced(issued(1), credited(1, [], { cents: 90, reference: 'CASE-1' }));
    expect(decide(all, [charged(1, 25)])).toEqual({ refusal: 'nothing_to_give_back' });
  });

  it('waits for the invoice of their period', () => {
    const refused = { refusal: 'invoice_not_found' };
    expect(decide(initialInvoices, [charged(1, 25)])).toEqual(refused);
    expect(decide(invoiced(issued(1, { covers: 'opening' })), [charged(1, 25)])).toEqual(refused);
    expect(decide(invoiced(issued(1)), [charged(1, 25)], { stream: `usage-${accountId}-20261201` })).toEqual(refused);
  });

  it('is about charges that its line names by their revisions and their rate', () => {
    const refused = { refusal: 'charge_not_found' };
    for (const revision of [2, 8, 9]) expect(decide(invoiced(issued(1)), [charged(revision, 25)])).toEqual(refused);
    expect(decide(invoiced(issued(1)), [charged(1, 25), charged(2, 25)])).toEqual(refused);
    for (const other of [{ rate_cents: 12 }, { rate_version: 'v2' }]) {
      const { charge: of, ...wanted } = charged(3, 25);
      expect(decide(invoiced(issued(1)), [{ ...wanted, charge: { ...of, rate: { ...rate, ...other } } }])).toEqual(
        refused,
      );
      expect(decide(invoiced(issued(1)), [{ ...wanted, charge: { ...of, rate: null } }])).toEqual(refused);
    }
    // A line whose range has the revision, and that is none of charges.
    const waivers: InvoiceLine = { kind: 'waivers', ...rate, quantity: 1, cents: -10, stream, revisions: [[1, 9, 1]] };
    expect(decide(invoiced(issued(1, { lines: [waivers] })), [charged(2, 25)])).toEqual(refused);
  });
});

describe('several invoices', () => {
  const october = { period_start: '2026-10-01T00:00:00.000Z', period_end: '2026-11-01T00:00:00.000Z' };
  const fee: InvoiceLine = { kind: 'fee', plan: 'dev_100', ...october, cents: 10, event: sourceOf(0) };
  const creditOf = (invoice_number: number, cents: number, reference = 'CASE-9'): LineNote => ({
    account_id: accountId,
    reference,
    invoice_number,
    line: 1,
    cents,
  });
  const decide = (state: Invoices, note: LineNote) => decideInvoices(state, { kind: 'credit_line', note, mailTo });

  it('are each of a period of their own', () => {
    const state = invoiced(issued(1, october));
    expect(decideInvoices(state, { kind: 'issue_invoice', draft, mailTo })).toEqual([issued(2)]);
  });

  it('are each credited by themselves', () => {
    const state = invoiced(issued(1, { ...october, lines: [fee] }), issued(2));
    expect(decide(state, creditOf(2, 90))).toHaveLength(1);
    const after = evolveInvoices(state, noteOf(1, creditOf(1, 10, 'CASE-1')));
    expect(decide(after, creditOf(2, 90))).toHaveLength(1);
  });

  it('are never credited beyond their total, whatever their lines say', () => {
    const state = invoiced(issued(1, { lines: draft.lines.slice(0, 1) }), noteOf(1, creditOf(1, 60, 'CASE-1')));
    expect(decide(state, creditOf(1, 30))).toHaveLength(1);
    expect(decide(state, creditOf(1, 31))).toEqual({ refusal: 'exceeds_charge' });
  });

  it('are credited for a charge by the one of its period, in the line of the charge', () => {
    const waivers: InvoiceLine = { kind: 'waivers', ...rate, quantity: 1, cents: -10, stream, revisions: [[1, 9, 1]] };
    const state = invoiced(issued(1, { ...october, lines: [fee] }), issued(2, { lines: [waivers, ...draft.lines] }));
    const command = {
      kind: 'credit_charges',
      accountId,
      reference: 'CASE-1',
      stream,
      charges: [charged(3, 25)],
      mailTo,
    } as const;
    expect(decideInvoices(state, command)).toMatchObject([{ data: { invoice_number: 2, line: 2, cents: 25 } }]);
  });

  it('are as they were when their mails are recorded', () => {
    const mailed: InvoiceEvent = {
      type: 'DocumentMailed',
      data: { account_id: accountId, document_event_id: idOf(1), person_id: 'per_aaaaaaaaaaaaaaaa', message_id: '<1>' },
    };
    const state = invoiced(issued(1));
    expect(evolveInvoices(state, mailed)).toBe(state);
  });
});

describe('the lines of an invoice', () => {
  const fee: InvoiceLine = { kind: 'fee', plan: 'dev_100', ...period, cents: 1900, event: sourceOf(0) };
  const overage = (cents: number, atRate: typeof rate = rate): InvoiceLine => {
    return { kind: 'overage', ...atRate, quantity: 4, cents, stream, revisions: [[1, 7, 2]] };
  };
  const waived = (cents: number, atRate: typeof rate = rate): InvoiceLine => {
    return { kind: 'waivers', ...atRate, quantity: 1, cents: -cents, stream, revisions: [[20, 20, 1]] };
  };
  const olderWaiver = (cents: number): InvoiceLine => {
    return { kind: 'waiver', reference: 'CASE-1', charge_event_id: idOf(3), cents: -cents, event: sourceOf(9) };
  };
  const invoiceOf = (...lines: InvoiceLine[]): InvoiceEvent => {
    const total_cents = lines.reduce((sum, { cents }) => sum + cents, 0);
    return {
      type: 'InvoiceIssued',
      data: { number: 1, ...draft, lines, currency: 'USD', total_cents, mail_to: mailTo },
    };
  };
  const credited = (line: number, cents: number): InvoiceEvent =>
    noteOf(1, { account_id: accountId, reference: 'CASE-1', invoice_number: 1, line, cents });
  /** The most that may be credited of a line. */
  const mostOf = (state: Invoices, line: number): number => {
    const left = lineLeft(state, { invoice_number: 1, line });
    return 'cents' in left ? left.cents : Number.NaN;
  };

  it('are each credited once, and leave the others what they have', () => {
    const state = invoiced(invoiceOf(fee, overage(100)), credited(1, 1900));
    expect([mostOf(state, 1), mostOf(state, 2)]).toEqual([0, 100]);
  });

  it('share the waivers of older invoices, which name no line', () => {
    const invoice = invoiceOf(overage(100), overage(120, newRate), olderWaiver(50), fee);
    expect([1, 2, 4].map((line) => mostOf(invoiced(invoice), line))).toEqual([100, 120, 1900]);
    expect(mostOf(invoiced(invoice, credited(1, 100)), 2)).toBe(70);
    expect(mostOf(invoiced(invoice, credited(2, 120)), 1)).toBe(50);
    expect(mostOf(invoiced(invoice, credited(4, 1900)), 1)).toBe(100);
  });

  it('are bounded by waivers of both forms together', () => {
    expect(mostOf(invoiced(invoiceOf(overage(100), waived(50), olderWaiver(10), fee)), 1)).toBe(40);
  });

  it.each([{ rate_cents: 12 }, { rate_version: 'v2' }])('keep what was waived at another rate: %j', (other) => {
    const otherRate = { ...rate, ...other };
    const state = invoiced(invoiceOf(overage(100), overage(100, otherRate), waived(60, otherRate), fee));
    expect([mostOf(state, 1), mostOf(state, 2)]).toEqual([100, 40]);
  });

  it('name their charges by the revisions of their ranges', () => {
    const line: InvoiceLine = {
      kind: 'overage',
      ...rate,
      quantity: 4,
      cents: 100,
      stream,
      revisions: [
        [4, 10, 3],
        [20, 20, 1],
      ],
    };
    const state = invoiced(invoiceOf(line));
    const about = { kind: 'credit_charges', accountId, reference: 'CASE-9', stream, mailTo } as const;
    const isNamed = (revision: number) => {
      const decided = decideInvoices(state, { ...about, charges: [charged(revision, 25)] });
      return !isRefused(decided) && decided.length === 1;
    };
    expect([4, 7, 10, 20].map(isNamed)).toEqual(Array(4).fill(true));
    expect([1, 5, 13, 19, 21].map(isNamed)).toEqual(Array(5).fill(false));
  });
});
