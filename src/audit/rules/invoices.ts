import type { Account } from './account.ts';
import { Chain } from './chain.ts';
import { isSumOf } from './correction-requests.ts';
import { differingFields } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { feeLine, type Line, rangesOf, sourceOf } from './invoice-lines.ts';
import { type Charge, isServiceFailure, type Period, serviceFailureReference } from './period.ts';

/** The invoices of an account, each line computed again, and its credit notes. */
export class Invoices extends Chain<string> {
  readonly #issued = new Map<number, Pick<Link['data'], 'covers' | 'period_start' | 'lines'>>();
  // Stryker disable next-line ArrayDeclaration: a text has no field of a note
  readonly #notes: Link['data'][] = [];
  /** The people whose mail is not recorded yet, by the id of the event that names them. */
  readonly waiting = new Map<string, readonly string[]>();
  /** The document of each such event. */
  readonly #documents = new Map<string, { id: string; revision: number }>();
  #lastNumber = 0;
  #lastNote = 0;

  linesOf(invoiceNumber: number): Line[] {
    return (this.#issued.get(invoiceNumber)?.lines ?? []) as Line[];
  }

  /** Cents of a charge that credit notes have given back. */
  creditedOf(chargeEventId: string): number {
    const named = this.#notes.flatMap(({ charges }) => charges);
    return sum(named.filter(({ charge_event_id: id }) => id === chargeEventId));
  }

  /** Each period is invoiced once, when it is closed; the first fee is invoiced when the account is opened. */
  issue(event: Link, period: Period | undefined): void {
    const { covers, number, period_start: start, lines: found } = event.data;
    const { opened } = period ?? {};
    const isFirst = covers === 'opening' && opened?.data.previous_period_start === null;
    const isDue = isFirst || (covers === 'period' && period?.phase === 'closed');
    this.must('invoice_due', isDue, event, 'data.covers', 'a first period, or one that is closed');
    const issued = [...this.#issued.values()];
    const isTwice = issued.some((other) => other.covers === covers && other.period_start === start);
    this.must('invoice_due', !isTwice, event, 'data.period_start', 'one that was not invoiced yet');
    this.mustEqual('invoice_number', event, { number: this.#lastNumber + 1 });
    this.#lastNumber = number;
    this.#issued.set(number, { covers, period_start: start, lines: found });
    if (!period || !opened) return;
    const { account_id, period_start, period_end } = opened.data;
    this.mustEqual('invoice_lines', event, { account_id, period_start, period_end, currency: 'USD' });
    const lines = isFirst ? [feeLine(opened, opened.data)] : linesAsIssued(period, found);
    this.mustEqual('invoice_lines', event, { lines, total_cents: sum(lines) });
    this.must('invoice_lines', sum(lines) > 0, event, 'data.total_cents', 'more than nothing');
  }

  /** A credit note stays within the invoice, the line and each charge that it names. */
  credit(event: Link, period: Period | undefined): void {
    const { invoice_number, line, charges, cents } = event.data;
    const lines = this.linesOf(invoice_number);
    const of = lines[line - 1];
    this.#requireActor(event);
    this.mustEqual('credit_note_line', event, { account_id: this.accountId, currency: 'USD' });
    this.must('correction_reference', !this.#isUsed(event.data), event, 'data.reference', 'a new one');
    const isSum = charges.length === 0 || isSumOf(cents, charges);
    this.must('correction_sum', isSum, event, 'data.cents', 'the sum of its charges, each named once');
    this.mustEqual('invoice_number', event, { number: this.#lastNote + 1 });
    this.#lastNote = event.data.number;
    this.#notes.push(event.data);
    if (!of) {
      this.wrong('credit_note_line', event, 'data.line', 'a line of an invoice');
      return;
    }
    const left = this.#leftOf(event.data, { lines, of, period });
    for (const { token, charge_event_id: id } of charges) {
      const charge = period?.charges.get(token);
      // An overage line has all charges of its period at its rate.
      if (charge?.id !== id || charge.voided || !isAtRate(of)(charge)) {
        this.wrong('credit_note_line', event, 'data.charges', 'charges of the line');
        return;
      }
      left.push(charge.leftCents - this.creditedOf(id));
    }
    const isWithin = cents > 0 && Math.min(...left) >= 0;
    this.must('credit_note_amount', isWithin, event, 'data.cents', `at most ${cents + Math.min(...left)}`);
  }

  /** One reference gives back each charge once, and credits one line as a whole. */
  #isUsed({ reference, charges }: Link['data']): boolean {
    const tokens = charges.map(({ token }) => token);
    const isAbout = (note: Link['data']) =>
      tokens.length === 0 ? note.charges.length === 0 : note.charges.some(({ token }) => tokens.includes(token));
    return this.#notes.some((note) => note.reference === reference && isAbout(note));
  }

  /** A document names the people whom it is mailed to. One who is removed while it is issued may still be named. */
  address(event: Link, account: Account | undefined): void {
    const { mail_to: people = [] } = event.data;
    const areKnown = people.every((personId) => account?.hadPerson(personId, event));
    this.must('document_mailed', areKnown, event, 'data.mail_to', 'people of this account');
    this.#documents.set(event.id, { id: event.id, revision: event.revision });
    this.waiting.set(event.id, people);
  }

  /** Staff ask for a mail about a document again, to people of whom nobody waits for one about it. */
  askMails(event: Link, account: Account | undefined): void {
    const { account_id, document_event_id: id, document_revision: revision, mail_to: people = [] } = event.data;
    this.mustEqual('document_mailed', event, { type: 'staff' }, 'metadata.actor.');
    const document = this.#documents.get(id);
    const isRight = account_id === this.accountId && document?.id === id && document.revision === revision;
    this.must('document_mailed', isRight, event, 'data.document_event_id', 'a document of this account');
    const areKnown = people.every((personId) => account?.hadPerson(personId, event));
    this.must('document_mailed', areKnown, event, 'data.mail_to', 'people of this account');
    const waiting = [...this.waiting].flatMap(([naming, of]) => (this.#documents.get(naming)?.id === id ? of : []));
    const isNew = people.length > 0 && !people.some((personId) => waiting.includes(personId));
    this.must('document_mailed', isNew, event, 'data.mail_to', 'people who wait for no mail about it');
    this.#documents.set(event.id, { id, revision });
    this.waiting.set(event.id, people);
  }

  /** A mail is recorded once, for an event and a person that it names. */
  mailed(event: Link, account: Account | undefined): void {
    const { account_id, document_event_id: documentId, person_id: personId, message_id: messageId } = event.data;
    const waiting = this.waiting.get(documentId) ?? [];
    const isRight = account_id === this.accountId && waiting.includes(personId);
    this.must(
      'document_mailed',
      isRight,
      event,
      'data.person_id',
      'one whom the document, or who asked again, names, once',
    );
    const isExcused = messageId !== null || account?.hadRemoved(personId, event) === true;
    this.must('document_mailed', isExcused, event, 'data.message_id', 'that of a mail: the person was not removed');
    this.waiting.set(
      documentId,
      waiting.filter((other) => other !== personId),
    );
  }

  #requireActor(event: Link): void {
    if (isServiceFailure(event)) {
      const tokens = event.data.charges.map(({ token }) => token).join(' ');
      this.mustEqual('correction_reference', event, { reference: serviceFailureReference(tokens) });
    } else this.mustEqual('correction_actor', event, { type: 'staff' }, 'metadata.actor.');
  }

  /** The remainder of the invoice, of the line, and of the line's charges after this note. */
  #leftOf(
    { invoice_number, line }: Link['data'],
    { lines, of, period }: { lines: readonly Line[]; of: Line; period: Period | undefined },
  ): number[] {
    const notes = this.#notes.filter((note) => note.invoice_number === invoice_number);
    const ofLine = notes.filter((note) => note.line === line);
    const left = [sum(lines) - sum(notes), of.cents - sum(ofLine)];
    if (of.kind !== 'overage' || !period) return left;
    // Waivers from before the close are already deducted from the line.
    const charged = [...period.charges.values()].filter((charge) => !charge.voided && isAtRate(of)(charge));
    return [...left, charged.reduce((total, { leftCents }) => total + leftCents, 0) - sum(ofLine)];
  }
}

/** @returns the lines in the form of the found ones, the current or the earlier form; both are right */
function linesAsIssued(period: Period, found: unknown): Line[] {
  const lines = linesOf(period);
  // Stryker disable next-line all: spares the earlier form, which is another one wherever both could be right
  if (differingFields({ lines: found }, { lines }, '') === undefined) return lines;
  const earlier = earlierLinesOf(period);
  return differingFields({ lines: found }, { lines: earlier }, '') === undefined ? earlier : lines;
}

const isAtRate =
  (line: Line) =>
  ({ rate }: Charge): boolean =>
    rate !== null && rate.rate_cents === line['rate_cents'] && rate.rate_version === line['rate_version'];

const sum = (parts: readonly { cents: number }[]) => parts.reduce((total, { cents }) => total + cents, 0);

/** The most ranges per invoice and per line. A line with more names all events from its first to its last. */
const rangesOfInvoice = 10_000;
const rangesOfLine = 5_000;

/** Overage by rate, its waivers, the fee differences of upgrades, and the fee of the next period. */
export function linesOf(period: Period): Line[] {
  let left = rangesOfInvoice;
  const waivers = [...Map.groupBy(keptWaivers(period), ({ charge }) => nameOfRate(charge)).values()];
  const counted = [
    ...overageOf(period).map((of) => ({ kind: 'overage', ...of })),
    ...waivers.flatMap((ofRate) => {
      const [first] = ofRate;
      // Stryker disable next-line ConditionalExpression,ArrayDeclaration: no group is empty
      if (!first) return [];
      const revisions = ofRate.map(({ event }) => event.revision);
      return [{ kind: 'waivers', rate: first.charge.rate, cents: -sum(ofRate), revisions }];
    }),
  ].map(({ kind, rate, cents, revisions: of }) => {
    const revisions = rangesOf(of, Math.min(left, rangesOfLine));
    left -= revisions.length;
    return { kind, ...rate, quantity: of.length, cents, stream: period.stream, revisions };
  });
  return withOthers(period, counted);
}

/** The earlier form of invoices: one line for each waiver, and no limit for the ranges of all lines. */
function earlierLinesOf(period: Period): Line[] {
  const overage = overageOf(period).map(({ rate, cents, revisions: of }) => {
    const revisions = rangesOf(of, rangesOfLine);
    return { kind: 'overage', ...rate, quantity: of.length, cents, stream: period.stream, revisions };
  });
  const waived = keptWaivers(period).map(({ event, cents }) => {
    const { reference, charge_event_id } = event.data;
    return { kind: 'waiver', reference, charge_event_id, cents: -cents, event: sourceOf(event) };
  });
  return withOthers(period, [...overage, ...waived]);
}

function overageOf({ charges }: Period) {
  const charged = [...charges.values()].filter(({ rate, voided }) => rate && !voided);
  return [...Map.groupBy(charged, nameOfRate).values()].flatMap((ofRate) => {
    const [first] = ofRate;
    // Stryker disable next-line all: no group is empty, and each charge in it has a rate
    if (!first?.rate) return [];
    const revisions = ofRate.map(({ revision }) => revision);
    return [{ rate: first.rate, cents: ofRate.length * first.rate.rate_cents, revisions }];
  });
}

const keptWaivers = ({ waivers }: Period) => waivers.filter(({ charge }) => charge.rate && !charge.voided);

function withOthers({ lines }: Period, first: readonly Line[]): Line[] {
  const others = ['fee_difference', 'fee'].flatMap((kind) => lines.filter((line) => line.kind === kind));
  return [...first, ...others].filter(({ cents }) => cents !== 0);
}

const nameOfRate = ({ rate }: Charge) => JSON.stringify(rate);
