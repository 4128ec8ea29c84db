import { sum } from '../support/sum.ts';
import type { ProvenLog, StoredEvent } from './proven-log.ts';

/** Lies about money that are chained and signed again: only somebody who recounts finds them. */

interface Line {
  kind: string;
  plan: string;
  cents: number;
  rate_cents: number;
  rate_version: string;
  quantity: number;
  period_end: string;
  stream: string;
  revisions: [first: number, last: number, step: number][];
  event: { hash: string };
}

/** A document, and what it follows from, in a log that may be changed. */
export interface Case {
  log: ProvenLog;
  document: StoredEvent;
  /** Of the document, or of the invoice that a credit note is about. */
  invoice: StoredEvent & {
    data: { lines: Line[]; total_cents: number; currency: string; period_end: string; covers: string };
  };
  /** Of the period that the invoice is about. */
  period: StoredEvent[];
}

// The fields of every event together: a forger knows which of them an event has.
interface Fields {
  [amount: string]: unknown;
  cents: number;
  rate_cents: number;
  rate_version: string;
  ordinal: number;
  credits: number;
  overage_cents: number;
  overage_cap_cents: number;
  download_credits: number;
  fee_difference_cents: number;
  effective: string;
  terms: Fields;
  next: Fields;
}
type Found = StoredEvent & { data: Fields };

const lineOf = ({ invoice }: Case, kind: string, isRight: (line: Line) => boolean = () => true): Line | undefined =>
  invoice.data.lines.find((line) => line.kind === kind && isRight(line));

const find = ({ period }: Case, type: string, isRight: (event: Found) => boolean = () => true): Found | undefined =>
  (period as Found[]).find((event) => event.type === type && isRight(event));

/** Makes the sum of the invoice right, as a careful forger does. */
function settle({ invoice: { data } }: Case): true {
  data.total_cents = sum(data.lines.map(({ cents }) => cents));
  return true;
}

/** Puts events in the place of others. */
function replace({ log }: Case, event: StoredEvent, count: number, ...others: StoredEvent[]): true {
  const ofStream = log.ofStream(event.stream);
  const from = ofStream.indexOf(event);
  const gone = new Set(ofStream.slice(from, from + count));
  const at = log.events.indexOf(event);
  log.events.splice(at, 0, ...others);
  log.events = log.events.filter((each) => !gone.has(each));
  return true;
}

let copies = 0;
const copyOf = (event: StoredEvent, data: object = {}, type = event.type): StoredEvent => {
  copies += 1;
  const id = `00000000-0000-4000-8000-${String(copies).padStart(12, '0')}`;
  return structuredClone({ ...event, id, type, data: { ...event.data, ...data } });
};

/** Changes an event's data if there is such an event. */
const change =
  (type: string, isRight: (event: Found) => boolean, lie: (data: Fields) => object) =>
  (of: Case): boolean => {
    const event = find(of, type, isRight);
    if (event) Object.assign(event.data, lie(event.data));
    return event !== undefined;
  };

const changeLine =
  (kind: string, lie: (line: Line) => object, isRight?: (line: Line) => boolean) =>
  (of: Case): boolean => {
    const line = lineOf(of, kind, isRight);
    if (line) Object.assign(line, lie(line));
    return line !== undefined && settle(of);
  };

/** @returns false where the document has nothing for this lie */
type Forge = (of: Case) => boolean;

const any = () => true;
const isNow = ({ data }: Found) => data.effective === 'now';

export const forgeries: readonly (readonly [name: string, refusal: RegExp, forge: Forge])[] = [
  // Of the invoice.
  [
    'a fee line raised',
    /\(fee\): cents is \d+; by the events it is \d+/,
    changeLine('fee', ({ cents }) => ({ cents: cents + 100 })),
  ],
  [
    'the first fee raised',
    /\(fee\): cents is/,
    (of) => of.invoice.data.covers === 'opening' && changeLine('fee', ({ cents }) => ({ cents: cents + 1 }))(of),
  ],
  ['a fee of another plan', /\(fee\): plan is/, changeLine('fee', () => ({ plan: 'scale_2000' }))],
  [
    'a fee of a longer period',
    /\(fee\): period_end is/,
    changeLine('fee', () => ({ period_end: '2030-01-01T00:00:00.000Z' })),
  ],
  [
    'a fee that follows from another event',
    /\(fee\): event is/,
    changeLine('fee', ({ event }) => ({ event: { ...event, hash: 'a'.repeat(64) } })),
  ],
  [
    'a fee difference raised',
    /\(fee_difference\): cents is/,
    changeLine('fee_difference', ({ cents }) => ({ cents: cents + 1 })),
  ],
  [
    'overage at another rate',
    /\(overage\): rate_cents is/,
    changeLine('overage', (line) => ({
      rate_cents: line.rate_cents + 5,
      cents: line.quantity * (line.rate_cents + 5),
    })),
  ],
  [
    'overage of another price list',
    /\(overage\): rate_version is/,
    changeLine('overage', () => ({ rate_version: '2099' })),
  ],
  [
    'overage with more cents than downloads',
    /\(overage\): cents is/,
    changeLine('overage', ({ cents }) => ({ cents: cents + 25 })),
  ],
  [
    'overage with a charge twice',
    /\(overage\): quantity is \d+; by the events it is \d+/,
    changeLine('overage', (line) => ({
      quantity: line.quantity + 1,
      cents: line.cents + line.rate_cents,
      revisions: [...line.revisions, line.revisions[0]],
    })),
  ],
  [
    'overage with a charge left out',
    /\(overage\): quantity is \d+; by the events it is \d+/,
    changeLine(
      'overage',
      (line) => ({ quantity: line.quantity - 1, cents: line.cents - line.rate_cents }),
      ({ quantity }) => quantity > 1,
    ),
  ],
  [
    'overage of other charges',
    /\(overage\): revisions is/,
    changeLine('overage', ({ revisions }) => ({
      revisions: revisions.map(([from, to, step]) => [from + 1, to + 1, step]),
    })),
  ],
  [
    'overage of another stream',
    /\(overage\): stream is/,
    changeLine('overage', ({ stream }) => ({ stream: `${stream.slice(0, -8)}20200101` })),
  ],
  [
    'waivers made smaller',
    /\(waivers\): cents is/,
    changeLine(
      'waivers',
      ({ cents }) => ({ cents: cents + 1 }),
      ({ cents }) => cents < -1,
    ),
  ],
  [
    'waivers left out',
    /line \d+ of the invoice \(\w+\): kind is .*; by the events it is .*waivers/,
    (of) => {
      const { lines } = of.invoice.data;
      const left = lines.filter(({ kind }) => kind !== 'waivers');
      of.invoice.data.lines = left;
      return left.length < lines.length && settle(of);
    },
  ],
  [
    'a line of unknown kind',
    /line \d+ of the invoice \(surcharge\): kind is "surcharge"; by the events it is missing/,
    (of) => {
      of.invoice.data.lines.push({ kind: 'surcharge', cents: 500 } as Line);
      return settle(of);
    },
  ],
  ['a line with a field more', /the field discount is not known/, changeLine('fee', () => ({ discount: 5 }))],
  [
    'a line doubled',
    /kind is .*; by the events it is missing/,
    (of) => {
      of.invoice.data.lines.push(of.invoice.data.lines.at(-1)!);
      return settle(of);
    },
  ],
  [
    'the last line left out',
    /kind is missing; by the events it is /,
    (of) => of.invoice.data.lines.pop() !== undefined && of.invoice.data.lines.length > 0 && settle(of),
  ],
  [
    'lines that come to another sum',
    /the invoice: total_cents is/,
    ({ invoice: { data } }) => (data.total_cents += 1) > 0,
  ],
  [
    'amounts moved between lines',
    /cents is \d+; by the events it is/,
    ({
      invoice: {
        data: { lines },
      },
    }) => {
      const [one, other] = lines.slice(-2);
      if (!one || !other) return false;
      one.cents -= 1;
      other.cents += 1;
      return true;
    },
  ],
  ['another currency', /the invoice: currency is "EUR"/, ({ invoice }) => (invoice.data.currency = 'EUR').length > 0],
  [
    'another period',
    /the invoice: period_end is/,
    ({ invoice }) => (invoice.data.period_end = '2030-01-01T00:00:00.000Z').length > 0,
  ],
  // Of the period.
  [
    'a charge above the price',
    /OverageCharged\): (?:rate_)?cents is \d+; by the events it is \d+/,
    (of) => {
      const charge = find(of, 'OverageCharged');
      if (!charge) return false;
      Object.assign(charge.data, { cents: charge.data.cents + 5, rate_cents: charge.data.rate_cents + 5 });
      return change('UsagePeriodClosed', any, (sums) => ({ overage_cents: sums.overage_cents + 5 }))(of);
    },
  ],
  [
    'a charge of another price list',
    /OverageCharged\): rate_version is/,
    change('OverageCharged', any, () => ({ rate_version: 'dear' })),
  ],
  [
    'a credit inside the allowance billed as overage',
    /OverageCharged\): it is charged as OverageCharged, and \d+ of \d+ credits are left/,
    (of) => {
      const [opened, credit] = [find(of, 'UsagePeriodOpened'), find(of, 'DownloadCreditDebited')];
      const { overage_cents: cents, rate_version } = (opened?.data.terms ?? {}) as Partial<Fields>;
      if (!credit || !cents) return false;
      const queued = of.period[credit.revision + 1]!;
      queued.data['overage'] = true;
      return replace(of, credit, 1, copyOf(credit, { cents, rate_cents: cents, rate_version }, 'OverageCharged'));
    },
  ],
  [
    'overage given as a credit',
    /DownloadCreditDebited\): it is charged as DownloadCreditDebited, and 0 of/,
    (of) => {
      const charge = find(of, 'OverageCharged', ({ revision }) => of.period[revision + 1]?.type === 'DownloadQueued');
      if (!charge) return false;
      of.period[charge.revision + 1]!.data['overage'] = false;
      const { token, ordinal } = charge.data;
      const credit = copyOf(charge, {}, 'DownloadCreditDebited');
      credit.data = { token, ordinal };
      return replace(of, charge, 1, credit);
    },
  ],
  [
    'charges beyond the cap',
    /it exceeds the overage cap of 0 cents/,
    (of) => {
      const opened = find(of, 'UsagePeriodOpened');
      if (!opened || find(of, 'OverageCapSet') || find(of, 'OverageCapRemoved') || !find(of, 'OverageCharged'))
        return false;
      opened.data.terms.overage_cap_cents = 0;
      return true;
    },
  ],
  [
    'a cap that a charge has passed',
    /it exceeds the overage cap of 1 cents/,
    (of) => {
      const charge = find(of, 'OverageCharged');
      if (!charge) return false;
      const cap = copyOf(charge, {}, 'OverageCapSet');
      cap.data = { effective: 'now', overage_cap_cents: 1 };
      return replace(of, charge, 1, cap, copyOf(charge));
    },
  ],
  [
    'a charge twice',
    /is charged twice/,
    (of) => {
      const charge = find(of, 'OverageCharged');
      if (!charge) return false;
      const queued = of.period[charge.revision + 1]!;
      return replace(of, queued, 1, copyOf(queued), copyOf(charge), copyOf(queued));
    },
  ],
  [
    'a charge left out',
    /it is number \d+, not \d+: a charge is left out/,
    (of) => {
      const isEarly = ({ data }: Found) => data.ordinal === 1;
      const charge = find(of, 'DownloadCreditDebited', isEarly);
      return charge !== undefined && replace(of, charge, 2);
    },
  ],
  [
    'a charge without a download',
    /its? ?.*(charge and its download are not side by side)/,
    (of) => {
      const queued = find(of, 'DownloadQueued');
      return queued !== undefined && replace(of, queued, 1);
    },
  ],
  [
    'a download of another charge',
    /DownloadQueued\): a charge and its download are not side by side/,
    change('DownloadQueued', any, () => ({ token: 'another-token-of-a-download' })),
  ],
  [
    'false sums in the closing',
    /UsagePeriodClosed\): overage_cents is \d+; by the events it is \d+/,
    change('UsagePeriodClosed', any, (sums) => ({ overage_cents: sums.overage_cents + 25 })),
  ],
  [
    'false credits in the closing',
    /UsagePeriodClosed\): download_credits is/,
    change('UsagePeriodClosed', any, (sums) => ({ download_credits: sums.download_credits + 1 })),
  ],
  [
    'false fees in the closing',
    /UsagePeriodClosed\): fee_difference_cents is/,
    change('UsagePeriodClosed', any, () => ({ fee_difference_cents: 777 })),
  ],
  [
    'a fee difference that is too high',
    /PlanChanged\): the fee rises by/,
    change('PlanChanged', isNow, (data) => ({ fee_difference_cents: data.fee_difference_cents + 1 })),
  ],
  [
    'a higher fee in the next period',
    /UsagePeriodEnded\): next is/,
    change('UsagePeriodEnded', any, ({ next }) => ({
      next: { ...next, terms: { ...next.terms, fee_cents: 99_900 } },
    })),
  ],
  [
    'a next period that is too long',
    /UsagePeriodEnded\): next is/,
    change('UsagePeriodEnded', any, ({ next }) => ({ next: { ...next, period_end: '2030-01-01T00:00:00.000Z' } })),
  ],
  [
    'a void that gives back nothing',
    /DownloadVoided\): it may not give this back/,
    change(
      'DownloadVoided',
      ({ data }) => data.cents > 0,
      () => ({ cents: 0, overage_downloads: 0 }),
    ),
  ],
  [
    'a void of a credit that gives back none',
    /DownloadVoided\): it may not give this back/,
    change(
      'DownloadVoided',
      ({ data }) => data.credits > 0,
      () => ({ credits: 0 }),
    ),
  ],
  [
    'a void left out',
    /by the events it is|is charged twice|credits are left|exceeds the overage cap|gives back/,
    (of) => {
      const voided = find(of, 'DownloadVoided', ({ data }) => data.cents > 0 || data.credits > 0);
      return voided !== undefined && replace(of, voided, 1);
    },
  ],
  [
    'a waiver left out',
    /by the events it is|exceeds the overage cap|gives back/,
    (of) => {
      const waived = find(of, 'ChargeWaived');
      return waived !== undefined && replace(of, waived, 1);
    },
  ],
  [
    'a waiver above the charge',
    /ChargeWaived\): only \d+ cents/,
    change('ChargeWaived', any, () => ({ cents: 9_999 })),
  ],
  [
    'a waiver of another charge',
    /ChargeWaived\): its charge is not there/,
    change('ChargeWaived', any, () => ({ charge_event_id: '00000000-0000-4000-8000-000000000000' })),
  ],
  [
    'a credit returned twice',
    /DownloadCreditReturned\): only 0 cents and 0 credits/,
    (of) => {
      const returned = find(of, 'DownloadCreditReturned');
      return returned !== undefined && replace(of, returned, 1, copyOf(returned), copyOf(returned));
    },
  ],
  [
    'a credit returned by nobody who may',
    /DownloadCreditReturned\): it may not give this back/,
    (of) => {
      const returned = find(of, 'DownloadCreditReturned');
      if (returned) returned.metadata['actor'] = { type: 'api_key', id: 'key_0000000000000000' };
      return returned !== undefined;
    },
  ],
  [
    'an event of a kind that nobody knows',
    /UsageSurcharged is not known here/,
    (of) => {
      const queued = find(of, 'DownloadQueued');
      return queued !== undefined && replace(of, queued, 1, copyOf(queued), copyOf(queued, {}, 'UsageSurcharged'));
    },
  ],
  [
    'an event of another stream',
    /JobStarted is not known here|it is of another stream/,
    (of) => {
      const queued = find(of, 'DownloadQueued');
      const mailed = queued && copyOf(queued, {}, 'DocumentMailed');
      if (!queued || !mailed) return false;
      mailed.data = { account_id: 'a', document_event_id: 'b', person_id: 'c', message_id: null };
      return replace(of, queued, 1, copyOf(queued), mailed);
    },
  ],
  [
    'an event with a field that nobody knows',
    /the field discount_cents is not known/,
    change('OverageCharged', any, () => ({ discount_cents: 5 })),
  ],
  [
    'an amount that is no number',
    /cents is missing, or is wrong/,
    change('OverageCharged', any, ({ cents }) => ({ cents: String(cents) })),
  ],
  [
    'a charge after the end',
    /it comes at 2030/,
    (of) => {
      const charge = [...(of.period as Found[])].reverse().find(({ type }) => type === 'OverageCharged');
      if (!charge) return false;
      for (const event of of.period.slice(charge.revision)) event.metadata['time'] = '2030-01-01T00:00:00.000Z';
      return true;
    },
  ],
  [
    'time that goes back',
    /is older than the one before it/,
    (of) => {
      const queued = find(of, 'DownloadQueued');
      if (queued) queued.metadata['time'] = '2020-01-01T00:00:00.000Z';
      return queued !== undefined;
    },
  ],
  [
    'an event of a later schema',
    /is older than the one before it|schema/,
    (of) => {
      const queued = find(of, 'DownloadQueued');
      if (queued) queued.metadata['schema'] = 2;
      return queued !== undefined;
    },
  ],
  // Of a credit note.
  [
    'a credit note above its line',
    /credit note \d+ gives back more than is left/,
    ({ document: { type, data } }) => {
      if (type !== 'CreditNoteIssued' || (data['charges'] as unknown[]).length > 0) return false;
      data['cents'] = 999_999;
      return true;
    },
  ],
  [
    'a credit note about another charge',
    /credit note \d+ names a charge that is not one of its line/,
    ({ document: { type, data } }) => {
      const [part] = (type === 'CreditNoteIssued' ? data['charges'] : []) as { charge_event_id: string }[];
      if (part) part.charge_event_id = '00000000-0000-4000-8000-000000000000';
      return part !== undefined;
    },
  ],
  [
    'a credit note that is not the sum of its charges',
    /credit note \d+ is not the sum of its charges/,
    ({ document: { type, data } }) => {
      if (type !== 'CreditNoteIssued' || (data['charges'] as unknown[]).length === 0) return false;
      data['cents'] = (data['cents'] as number) + 1;
      return true;
    },
  ],
  [
    'a credit note by a customer',
    /credit note \d+ is about no line, or not by staff/,
    ({ document }) => {
      document.metadata['actor'] = { type: 'owner', id: 'per_0000000000000000' };
      return document.type === 'CreditNoteIssued';
    },
  ],
];
