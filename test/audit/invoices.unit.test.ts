import { beforeEach, describe, expect, it } from 'vitest';
import type { Account } from '../../src/audit/rules/account.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import { Invoices } from '../../src/audit/rules/invoices.ts';
import type { Charge, Period } from '../../src/audit/rules/period.ts';
import { linkOf } from './link-of.ts';

/** The rules of an account's documents, event by event, beside a period as the replay has it. */
const staff = { type: 'staff', id: 'maria', role: 'operator' };
const service = { type: 'system', id: 'service-failures' };
const [start, end, nextEnd] = ['2024-01-31', '2024-02-29', '2024-03-31'].map((day) => `${day}T00:00:00.000Z`);
const stream = 'usage-acc_a-20240131';

let told: string[];
let invoices: Invoices;
let revision: number;
beforeEach(() => {
  told = [];
  revision = -1;
  invoices = new Invoices('invoices-acc_a', 'acc_a', ({ rule, field, expected }) =>
    told.push(`${rule} ${field} ${typeof expected === 'string' ? expected : JSON.stringify(expected)}`),
  );
});

function link(type: string, data: object, actor: object = staff): Link {
  revision += 1;
  const id = `document ${String(revision)}`;
  return linkOf(type, { stream: 'invoices-acc_a', revision, id, data, metadata: { actor, time: end } });
}

const dear = { rate_cents: 25, rate_version: 'dear' };
const charge = (revisionOf: number, of: Partial<Charge> = {}): Charge => ({
  id: `charge ${String(revisionOf)}`,
  revision: revisionOf,
  rate: dear,
  leftCents: of.rate?.rate_cents ?? 25,
  leftCredits: 0,
  confirmed: false,
  voided: false,
  key: null,
  limitedKey: undefined,
  ...of,
});

const opening = { stream, revision: 0, id: 'opening', hash: 'hash of opening' };
const announcing = { stream, revision: 30, id: 'end', hash: 'hash of end' };
const fee = { kind: 'fee', plan: 'dev_100', cents: 1_900 };
const nextFee = { ...fee, period_start: end, period_end: nextEnd, event: announcing };

/** A closed period with three downloads at 25 cents and one at 10, one of which was waived in part. */
function periodOf(of: object = {}): Period {
  const cheap = charge(9, { rate: { rate_cents: 10, rate_version: 'cheap' } });
  const charges = new Map([
    ['credit', charge(1, { rate: null, leftCredits: 1, leftCents: 0 })],
    ['a', charge(3)],
    ['b', charge(5, { leftCents: 20 })],
    ['voided', charge(7, { voided: true, leftCents: 0 })],
    ['cheap', cheap],
    ['c', charge(11)],
  ]);
  const terms = { plan: 'dev_100', fee_cents: 1_900 };
  const data = { account_id: 'acc_a', period_start: start, period_end: end, previous_period_start: null, terms };
  const waivers = [{ event: waiverEvent(13, 'b'), charge: charges.get('b'), cents: 5 }];
  const opened = { ...opening, metadata: { hash: opening.hash }, data };
  return { phase: 'closed', stream, opened, charges, waivers, lines: [nextFee], ...of } as unknown as Period;
}

const waiverEvent = (at: number, token: string) => ({
  stream,
  revision: at,
  id: `waiver ${String(at)}`,
  metadata: { hash: `hash of ${String(at)}` },
  data: { reference: 'case-0', charge_event_id: `charge of ${token}` },
});

const ofPeriod = [
  {
    kind: 'overage',
    ...dear,
    quantity: 3,
    cents: 75,
    stream,
    revisions: [
      [3, 5, 2],
      [11, 11, 1],
    ],
  },
  { kind: 'overage', rate_cents: 10, rate_version: 'cheap', quantity: 1, cents: 10, stream, revisions: [[9, 9, 1]] },
  { kind: 'waivers', ...dear, quantity: 1, cents: -5, stream, revisions: [[13, 13, 1]] },
  nextFee,
];
const invoice = {
  number: 1,
  account_id: 'acc_a',
  covers: 'period',
  period_start: start,
  period_end: end,
  currency: 'USD',
  lines: ofPeriod as object[],
  total_cents: 1_980,
};
const openingFee = { ...fee, period_start: start, period_end: end, event: opening };
const first = { ...invoice, covers: 'opening', lines: [openingFee], total_cents: 1_900 };

function saysOf(work: () => unknown): string[] {
  told.length = 0;
  work();
  return [...told];
}
const issue = (of: object = {}, period: Period | undefined = periodOf()) =>
  saysOf(() => invoices.issue(link('InvoiceIssued', { ...invoice, ...of }), period));

const wrongLines = (lines: readonly object[], cents: number) => [
  `invoice_lines data.lines ${JSON.stringify(lines)}`,
  `invoice_lines data.total_cents ${JSON.stringify(cents)}`,
];

describe('an invoice', () => {
  const notDue = 'invoice_due data.covers a first period, or one that is closed';

  it('is issued once for the first fee and once for a closed period, with their numbers', () => {
    expect(issue(first)).toEqual([]);
    expect(issue({ number: 2 })).toEqual([]);
    const again = 'invoice_due data.period_start one that was not invoiced yet';
    expect(issue({ number: 3 })).toEqual([again]);
    expect(issue({ ...first, number: 4 })).toEqual([again]);
    expect(issue({ number: 6, period_start: nextEnd })).toContain('invoice_number data.number 5');
    expect(invoices.linesOf(1)).toEqual(first.lines);
    expect(invoices.linesOf(9)).toEqual([]);
  });

  it('is not due before the close, for a first fee of a later period, of no period, and for anything else', () => {
    expect(issue({}, periodOf({ phase: 'ended' }))).toEqual([notDue]);
    const later = periodOf({
      opened: { ...periodOf().opened, data: { ...periodOf().opened?.data, previous_period_start: end } },
    });
    expect(issue({ ...first, number: 2 }, later)[0]).toBe(notDue);
    expect(
      saysOf(() => invoices.issue(link('InvoiceIssued', { ...invoice, number: 3, period_start: 'x' }), undefined)),
    ).toEqual([notDue]);
    expect(
      saysOf(() => invoices.issue(link('InvoiceIssued', { ...first, number: 4, period_start: 'y' }), undefined)),
    ).toEqual([notDue]);
    expect(issue({ number: 5, covers: 'all', period_start: 'z' })).toContain(notDue);
    const absent = periodOf({ opened: undefined });
    expect(issue({ number: 6, period_start: 'w' }, absent)).toEqual([]);
  });

  it('is of its account and period, in dollars, and its lines are computed again', () => {
    expect(issue({ account_id: 'acc_b' })).toEqual(['invoice_lines data.account_id acc_a']);
    expect(issue({ number: 2, period_end: nextEnd, period_start: 'x' })).toEqual([
      `invoice_lines data.period_start ${String(start)}`,
      `invoice_lines data.period_end ${String(end)}`,
    ]);
    expect(issue({ number: 3, period_start: 'y', currency: 'EUR' })).toContain('invoice_lines data.currency USD');
    const [, cheap, ...others] = ofPeriod;
    expect(issue({ number: 4, lines: [cheap, ...others] })).toContain(
      `invoice_lines data.lines ${JSON.stringify(ofPeriod)}`,
    );
  });

  it('says what its period took: no voided charge, no line of nothing, fee differences before the fee', () => {
    const difference = { kind: 'fee_difference', plan: 'studio_500', cents: 4_000, event: opening };
    const nothing = { kind: 'fee_difference', plan: 'studio_500', cents: 0, event: opening };
    const period = periodOf({ lines: [nextFee, nothing, difference], waivers: [], charges: new Map() });
    expect(issue({ lines: [difference, nextFee], total_cents: 5_900 }, period)).toEqual([]);
    const none = periodOf({ lines: [], waivers: [], charges: new Map() });
    expect(issue({ number: 2, period_start: start, lines: [], total_cents: 0 }, none)).toEqual([
      'invoice_due data.period_start one that was not invoiced yet',
      'invoice_lines data.total_cents more than nothing',
    ]);
  });

  it('has a line for the waivers of each rate', () => {
    const period = periodOf();
    const cheap = period.charges.get('cheap');
    period.waivers.push({ event: waiverEvent(15, 'cheap'), charge: cheap, cents: 10 } as never);
    const [, , waived, last] = ofPeriod;
    const ofCheap = { ...waived, rate_cents: 10, rate_version: 'cheap', cents: -10, revisions: [[15, 15, 1]] };
    const lines = [...ofPeriod.slice(0, 3), ofCheap, last] as object[];
    expect(issue({ lines, total_cents: 1_970 }, period)).toEqual([]);
  });

  it('leaves out waivers of a charge that was voided since, and of one without a rate', () => {
    const voided = charge(3, { voided: true });
    const credit = charge(5, { rate: null });
    const waivers = [voided, credit].map((of) => ({ event: waiverEvent(13, 'x'), charge: of, cents: 5 }));
    expect(issue({ lines: [nextFee], total_cents: 1_900 }, periodOf({ waivers, charges: new Map() }))).toEqual([]);
  });

  it('may have the earlier form, with a line for each waiver', () => {
    const waiver = { kind: 'waiver', reference: 'case-0', charge_event_id: 'charge of b', cents: -5 };
    const { stream, revision, id, metadata } = waiverEvent(13, 'b');
    const source = { stream, revision, id, hash: metadata.hash };
    const [dearest, cheapest] = ofPeriod;
    const lines = [dearest, cheapest, { ...waiver, event: source }, nextFee] as object[];
    expect(issue({ lines })).toEqual([]);
    expect(issue({ number: 2, period_start: start, lines: [...lines, nextFee], total_cents: 1 })).toEqual([
      'invoice_due data.period_start one that was not invoiced yet',
      ...wrongLines(ofPeriod, 1_980),
    ]);
  });

  it('names at most 10 000 ranges, and 5 000 in a line', () => {
    // Revisions without a step that repeats: each is a range of its own.
    const sparse = (count: number, from: number) =>
      Array.from({ length: count }, (_, index) => from + index * 1_000 + ((index * index) % 997));
    const of = (rate: { rate_cents: number; rate_version: string }, count: number, from: number) =>
      sparse(count, from).map((at) => [`${rate.rate_version} ${String(at)}`, charge(at, { rate })] as const);
    const rates = ['a', 'b', 'c'].map((rate_version) => ({ rate_cents: 10, rate_version }));
    const charges = new Map(rates.flatMap((rate, index) => of(rate, 8_000, index + 1)));
    invoices.issue(
      link('InvoiceIssued', { ...invoice, lines: [], total_cents: 0 }),
      periodOf({ charges, waivers: [], lines: [] }),
    );
    const said = told.find((each) => each.startsWith('invoice_lines data.lines')) ?? '';
    const lines = JSON.parse(said.slice('invoice_lines data.lines '.length)) as { revisions: number[][] }[];
    expect(lines.map(({ revisions }) => revisions.length)).toEqual([4_000, 4_000, 1]);
  });
});

describe('a credit note', () => {
  const note = {
    number: 1,
    account_id: 'acc_a',
    reference: 'case-1',
    invoice_number: 1,
    line: 1,
    charges: [] as object[],
    currency: 'USD',
    cents: 10,
  };
  const credit = (
    of: Partial<typeof note> = {},
    { period = periodOf(), actor = staff }: { period?: Period | undefined; actor?: object } = {},
  ) => saysOf(() => invoices.credit(link('CreditNoteIssued', { ...note, ...of }, actor), period));
  /** Cents of the charge of a download, by its event. */
  const named = (token: string, id: string, cents: number) => ({
    charges: [{ token, charge_event_id: id, cents }],
    cents,
  });
  const atMost = (cents: number) => [`credit_note_amount data.cents at most ${String(cents)}`];
  beforeEach(() => {
    issue();
  });

  it('is numbered, has a reference of its own, is of the account, in dollars and by staff', () => {
    expect(credit()).toEqual([]);
    expect(credit({ number: 2 })).toEqual(['correction_reference data.reference a new one']);
    expect(credit({ number: 4, reference: 'case-2' })).toEqual(['invoice_number data.number 3']);
    expect(credit({ number: 5, reference: 'case-3', account_id: 'acc_b', currency: 'EUR' })).toEqual([
      'credit_note_line data.account_id acc_a',
      'credit_note_line data.currency USD',
    ]);
    const owner = { type: 'owner', id: 'per_a' };
    expect(credit({ number: 6, reference: 'case-4' }, { actor: owner })).toEqual([
      'correction_actor metadata.actor.type staff',
    ]);
  });

  it('is about a line of an invoice', () => {
    const noLine = ['credit_note_line data.line a line of an invoice'];
    expect(credit({ line: 5 })).toEqual(noLine);
    expect(credit({ number: 2, reference: 'case-2', invoice_number: 2 })).toEqual(noLine);
  });

  it.each([
    ['a fee', { line: 4, cents: 1_900 }, []],
    ['more than a fee', { line: 4, cents: 1_901 }, atMost(1_900)],
    ['what is left of the charges of a line', { line: 1, cents: 70 }, []],
    ['more than that', { line: 1, cents: 71 }, atMost(70)],
    ['a line at another rate', { line: 2, cents: 10 }, []],
    ['more of it', { line: 2, cents: 11 }, atMost(10)],
    ['nothing', { cents: 0 }, atMost(70)],
  ])('gives back no more than is left of it: %s', (_, of, says) => {
    expect(credit(of)).toEqual(says);
  });

  it('leaves less of its line and of its invoice for the next one', () => {
    expect(credit({ line: 4, cents: 1_900 })).toEqual([]);
    expect(credit({ number: 2, reference: 'case-2', line: 4, cents: 1 })).toEqual(atMost(0));
    expect(credit({ number: 3, reference: 'case-3', line: 1, cents: 70 })).toEqual([]);
    // All of the invoice but nine cents is gone.
    expect(credit({ number: 4, reference: 'case-4', line: 2, cents: 10 })).toEqual(atMost(9));
    invoices.issue(link('InvoiceIssued', { ...first, number: 2 }), periodOf());
    expect(credit({ number: 5, reference: 'case-5', invoice_number: 2, cents: 1_900 })).toEqual([]);
  });

  it('may name charges of its line', () => {
    const two = [...named('b', 'charge 5', 15).charges, ...named('a', 'charge 3', 25).charges];
    expect(credit({ charges: two, cents: 40 })).toEqual([]);
    expect(invoices.creditedOf('charge 5')).toBe(15);
    expect(invoices.creditedOf('charge 3')).toBe(25);
    expect(invoices.creditedOf('charge 11')).toBe(0);
    expect(credit({ ...named('b', 'charge 5', 6), number: 2, reference: 'case-2' })).toEqual(atMost(5));
    expect(credit({ ...named('a', 'charge 3', 1), number: 3, reference: 'case-3' })).toEqual(atMost(0));
  });

  it.each([
    ['a voided one', 'voided', 'charge 7'],
    ['one at another rate', 'cheap', 'charge 9'],
    ['a credit', 'credit', 'charge 1'],
    ['one that is not there', 'x', 'another'],
    ['the event of another download', 'a', 'charge 5'],
  ])('names no charge but those: %s', (_, token, id) => {
    const notOfLine = ['credit_note_line data.charges charges of the line'];
    expect(credit(named(token, id, 1))).toEqual(notOfLine);
    const after = { ...named('c', 'charge 11', 1), number: 2, reference: 'case-2' };
    expect(credit({ ...after, charges: [...after.charges, ...named(token, id, 1).charges], cents: 2 })).toEqual(
      notOfLine,
    );
  });

  it('names no charges of a period that is not there, nor at a rate of nearly the same', () => {
    const notOfLine = ['credit_note_line data.charges charges of the line'];
    const of = named('a', 'charge 3', 1);
    expect(saysOf(() => invoices.credit(link('CreditNoteIssued', { ...note, ...of }), undefined))).toEqual(notOfLine);
    for (const [index, rate] of [
      { rate_cents: 26, rate_version: 'dear' },
      { rate_cents: 25, rate_version: 'other' },
    ].entries()) {
      const period = periodOf({ charges: new Map([['a', charge(3, { rate })]]) });
      expect(credit({ ...of, number: 2 + index, reference: `case-${String(index)}x` }, { period })).toEqual(notOfLine);
    }
  });

  it('comes to the sum of its charges, each named once', () => {
    const notSum = ['correction_sum data.cents the sum of its charges, each named once'];
    expect(credit({ ...named('a', 'charge 3', 5), cents: 6 })).toEqual(notSum);
    const twice = [...named('b', 'charge 5', 1).charges, ...named('b', 'charge 5', 2).charges];
    expect(credit({ charges: twice, cents: 3, number: 2, reference: 'case-2' })).toEqual(notSum);
  });

  it('has a reference that gave back none of its charges, and may share it with others', () => {
    const used = ['correction_reference data.reference a new one'];
    expect(credit(named('a', 'charge 3', 1))).toEqual([]);
    expect(credit({ ...named('b', 'charge 5', 1), number: 2 })).toEqual([]);
    expect(credit({ number: 3 })).toEqual([]);
    expect(credit({ number: 4, line: 4 })).toEqual(used);
    const more = [...named('c', 'charge 11', 1).charges, ...named('a', 'charge 3', 1).charges];
    expect(credit({ charges: more, cents: 2, number: 5 })).toEqual(used);
    expect(credit({ ...named('a', 'charge 3', 1), number: 6, reference: 'case-2' })).toEqual([]);
    expect(credit({ charges: more, cents: 2, number: 7, reference: 'case-3' })).toEqual([]);
    expect(credit({ ...named('c', 'charge 11', 1), number: 8, reference: 'case-3' })).toEqual(used);
  });

  it('is without the charges where the period is not there', () => {
    expect(saysOf(() => invoices.credit(link('CreditNoteIssued', { ...note, cents: 75 }), undefined))).toEqual([]);
  });

  it('of the service, for a failure of its own, has the reference of the download', () => {
    expect(credit({ ...named('b', 'charge 5', 20), reference: 'service-failure-b' }, { actor: service })).toEqual([]);
    expect(credit({ ...named('a', 'charge 3', 20), number: 2, reference: 'case' }, { actor: service })).toEqual([
      'correction_reference data.reference service-failure-a',
    ]);
    expect(credit({ number: 3, reference: 'of none' }, { actor: service })).toEqual([
      'correction_reference data.reference service-failure-',
    ]);
    const two = [...named('a', 'charge 3', 1).charges, ...named('c', 'charge 11', 1).charges];
    expect(credit({ charges: two, cents: 2, number: 4, reference: 'of two' }, { actor: service })).toEqual([
      'correction_reference data.reference service-failure-a c',
    ]);
  });
});

describe('a mail about a document', () => {
  const account = {
    hadPerson: (personId: string) => personId !== 'foreign',
    hadRemoved: (personId: string) => personId === 'removed',
  } as unknown as Account;
  const address = (mail_to?: readonly string[], of: Account | undefined = account) =>
    saysOf(() => invoices.address(link('InvoiceIssued', { mail_to }), of));
  const mailed = (data: object, of: Account | undefined = account) =>
    saysOf(() =>
      invoices.mailed(
        link('DocumentMailed', { account_id: 'acc_a', document_event_id: 'document 0', message_id: '<a>', ...data }),
        of,
      ),
    );
  const foreign = ['document_mailed data.mail_to people of this account'];
  const notNamed = ['document_mailed data.person_id one whom the document, or who asked again, names, once'];

  it('goes to people of the account whom the document names', () => {
    expect(address(['ada', 'bob'])).toEqual([]);
    expect(invoices.waiting.get('document 0')).toEqual(['ada', 'bob']);
    expect(address(['ada', 'foreign'])).toEqual(foreign);
    expect(saysOf(() => invoices.address(link('InvoiceIssued', { mail_to: ['ada'] }), undefined))).toEqual(foreign);
    expect(address()).toEqual([]);
    expect(invoices.waiting.get('document 3')).toEqual([]);
  });

  it('is recorded once for each of them', () => {
    address(['ada', 'bob', 'removed']);
    expect(mailed({ person_id: 'ada' })).toEqual([]);
    expect(invoices.waiting.get('document 0')).toEqual(['bob', 'removed']);
    expect(mailed({ person_id: 'ada' })).toEqual(notNamed);
    expect(mailed({ person_id: 'bob', account_id: 'acc_b' })).toEqual(notNamed);
    expect(mailed({ person_id: 'bob', document_event_id: 'another' })).toEqual(notNamed);
    expect(invoices.waiting.get('another')).toEqual([]);
  });

  describe('that staff ask for again', () => {
    const ask = (data: object = {}, { of = account, actor = { type: 'staff', id: 'maria' } }: Asking = {}) => {
      const asked = { account_id: 'acc_a', document_event_id: 'document 0', document_revision: 0, mail_to: ['ada'] };
      const event = link('DocumentMailAsked', { ...asked, ...data });
      return saysOf(() =>
        invoices.askMails({ ...event, metadata: { ...event.metadata, actor } } as Link, of ?? undefined),
      );
    };
    interface Asking {
      of?: Account | null;
      actor?: object;
    }
    const notOfDocument = ['document_mailed data.document_event_id a document of this account'];
    const twice = ['document_mailed data.mail_to people who wait for no mail about it'];

    it('goes to each of them once more, recorded by the event that asks', () => {
      address(['ada', 'bob']);
      mailed({ person_id: 'ada' });
      expect(ask()).toEqual([]);
      expect(mailed({ person_id: 'ada' })).toEqual(notNamed);
      const [asking] = [...invoices.waiting.keys()].slice(-1);
      expect(mailed({ person_id: 'ada', document_event_id: asking })).toEqual([]);
      expect(ask({ document_event_id: asking })).toEqual(notOfDocument);
    });

    it('is asked for by staff, of a document of the account, for its people', () => {
      address([]);
      expect(ask({}, { actor: { type: 'system', id: 'test' } })).toEqual(['document_mailed metadata.actor.type staff']);
      invoices.waiting.clear();
      expect(ask({ account_id: 'acc_b' })).toEqual(notOfDocument);
      invoices.waiting.clear();
      expect(ask({ document_event_id: 'another' })).toEqual(notOfDocument);
      expect(ask({ document_revision: 1 })).toEqual(notOfDocument);
      invoices.waiting.clear();
      expect(ask({ mail_to: ['ada', 'foreign'] })).toEqual(foreign);
      invoices.waiting.clear();
      expect(ask({}, { of: null })).toEqual(foreign);
    });

    it('is not asked for nobody, or while one about it waits', () => {
      address(['bob']);
      expect(ask({ mail_to: [] })).toEqual(twice);
      expect(ask({ mail_to: ['bob'] })).toEqual(twice);
      invoices.waiting.clear();
      expect(ask()).toEqual([]);
      expect(ask({ mail_to: ['ada', 'bob'] })).toEqual(twice);
    });
  });

  it('may be missing for somebody who was removed', () => {
    const noMail = ['document_mailed data.message_id that of a mail: the person was not removed'];
    address(['ada', 'removed', 'gone']);
    expect(mailed({ person_id: 'removed', message_id: null })).toEqual([]);
    expect(mailed({ person_id: 'ada', message_id: null })).toEqual(noMail);
    expect(
      saysOf(() =>
        invoices.mailed(
          link('DocumentMailed', {
            account_id: 'acc_a',
            document_event_id: 'document 0',
            person_id: 'gone',
            message_id: null,
          }),
          undefined,
        ),
      ),
    ).toEqual(noMail);
  });
});
