import type { RecordedEvent } from './log.ts';

/**
 * The fields of each event, and of each part of one, written from docs/events.md. A name alone is a text that is not empty, or
 * a part with fields of its own; `#` a whole number from 0 on; `@` an instant; `!` true or false; `?` may be null; `~` may be missing; `*` is not looked into here.
 */
const forms = {
  metadata: '$correlationId $causationId ~$traceparent #schema actor @time hash',
  actor: 'type id',
  staff: 'type id role reason',
  terms:
    'plan #downloads_limit #metadata_limit ?#overage_cents rate_version #fee_cents #hourly_limit ~#max_keys *warning_percents ~!service_failures_returned ~?#overage_cap_cents',
  next: '@period_start @period_end terms',
  idempotency: 'key_hash fingerprint',
  promised: 'process @at',
  AccountOpened: 'account_id terms #anchor_day @period_start @period_end *personal',
  ApiKeyIssued: 'account_id key_id key_hash key_prefix *personal',
  ApiKeyRevoked: 'account_id key_id',
  UsagePeriodOpened: 'account_id #anchor_day @period_start @period_end ?@previous_period_start terms',
  PlanChanged: 'effective terms #fee_difference_cents',
  OverageCapSet: 'effective #overage_cap_cents',
  OverageCapRemoved: 'effective',
  DownloadCreditDebited: 'token #ordinal',
  OverageCharged: 'token #ordinal #cents #rate_cents rate_version',
  DownloadQueued: 'token platform video_id url format quality audio_format #item *overage ?idempotency',
  DownloadConfirmed: 'token',
  DownloadVoided: 'token charge_event_id #credits #overage_downloads #cents ~promised',
  MetadataCreditDebited: 'lookup_id #ordinal platform video_id',
  MetadataCreditVoided: 'lookup_id charge_event_id ~promised',
  UsageWarningReached: 'pool #threshold_percent #used #limit',
  UsageWarningMailed: 'warning_event_id pool #threshold_percent message_id',
  OverageCapReached: '#overage_cents #overage_cap_cents',
  OverageCapMailed: 'cap_event_id message_id',
  DownloadCreditReturned: 'token charge_event_id',
  ChargeWaived: 'reference token charge_event_id #cents #overage_downloads',
  UsagePeriodEnded: '@period_start @period_end next',
  UsagePeriodClosed:
    '@period_start @period_end #downloads #download_credits #overage_downloads #overage_cents #metadata_credits #fee_difference_cents',
  JobClaimed: 'token account_id worker_id #attempt usage_stream #usage_revision',
  JobStarted: 'token worker_id',
  JobReleased: 'token reason @not_before',
  JobCompleted: 'token #claim_revision file_name file_mime #file_size_bytes file_sha256 *duration_seconds',
  JobFailed: 'token reason ~fault',
  FileExpired: 'token #claim_revision',
  InvoiceIssued: '#number account_id covers @period_start @period_end currency *lines #total_cents',
  CreditNoteIssued: '#number account_id reference #invoice_number #line ?charge_event_id currency #cents',
  DivergenceAcknowledged: 'rule ?account_id stream *revision field *expected *found reference',
} as const;

type Forms = typeof forms;
type Words<Text> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;
type Name<Word> = Word extends `${'#' | '@' | '!' | '?' | '~' | '*'}${infer Rest}` ? Name<Rest> : Word & string;
type Value<Word> = Word extends `?${infer Rest}`
  ? Value<Rest> | null
  : Word extends `~${infer Rest}`
    ? Value<Rest> | undefined
    : Word extends `#${string}`
      ? number
      : Word extends `!${string}`
        ? boolean
        : Word extends `*${string}`
          ? unknown
          : Word extends keyof Forms
            ? Fields<Word>
            : string;
type Fields<Form extends keyof Forms> = { [Word in Words<Forms[Form]> as Name<Word>]: Value<Word> };

export type Terms = Fields<'terms'>;

/** Streams of this service, by their exact forms: others may live in the same event store. */
const ours =
  /^(?:account-acc_[a-z0-9]{16,32}|usage-acc_[a-z0-9]{16,32}-\d{8}|invoices-acc_[a-z0-9]{16,32}|job-[A-Za-z0-9_-]{20,64}|audit-acknowledgements)$/;

export const isOurStream = (stream: string): boolean => ours.test(stream);

/** An event with the fields of all types together: which of them it has was checked before anything is read from it. */
export interface Link extends RecordedEvent {
  data: Fields<Exclude<keyof Forms, 'metadata' | 'actor' | 'terms' | 'next' | 'DivergenceAcknowledged'>>;
  metadata: Fields<'metadata'>;
}

/** Of an invoice: the kind decides what else it has. */
export type Line = { kind: string; cents: number } & Readonly<Record<string, unknown>>;

/** A field of a form: what its word says of it, read once, since every event is held against some thirty of them. */
interface Field {
  name: string;
  /** Of the part that the field is, or the word itself where it has none. */
  kind: string;
  mayBeNull: boolean;
  mayBeMissing: boolean;
}

const fieldsOf = new Map<string, readonly Field[]>(
  Object.entries(forms).map(([form, words]) => [form, words.split(' ').map(fieldOf)]),
);
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function fieldOf(word: string): Field {
  const name = word.replace(/^[#@!?~*]+/, '');
  const marks = word.slice(0, word.length - name.length);
  const kind = ['#', '@', '!', '*'].find((mark) => marks.includes(mark)) ?? (name in forms ? name : 'text');
  return { name, kind, mayBeNull: marks.includes('?'), mayBeMissing: marks.includes('~') };
}

/** A field that is not as it should be. */
export interface WrongField {
  path: string;
  /** It is one field more: the others may be read. */
  isSurplus: boolean;
}

/**
 * A correction of staff has a role and a reason besides.
 *
 * @returns the first field of the event that is missing, not in its form, or unknown
 */
export function findWrongField({ type, data, metadata }: RecordedEvent): WrongField | undefined {
  const of = [wrongField(metadata, 'metadata'), wrongField(data, type, 'data')];
  return of.find((wrong) => wrong?.isSurplus === false) ?? of.find((wrong) => wrong !== undefined);
}

/** Those that are missing or wrong come before those that are unknown. @returns the part's own path where it has no form */
function wrongField(part: unknown, form: string, path = form): WrongField | undefined {
  const fields = fieldsOf.get(form);
  if (!fields || typeof part !== 'object' || part === null) return { path, isSurplus: false };
  const values = part as Record<string, unknown>;
  let surplus: WrongField | undefined;
  for (const field of fields) {
    const wrong = wrongValue(values[field.name], field, path);
    if (wrong && !wrong.isSurplus) return wrong;
    surplus ??= wrong;
  }
  for (const name in part) {
    if (!fields.some((field) => field.name === name)) surplus ??= { path: `${path}.${name}`, isSurplus: true };
  }
  return surplus;
}

function wrongValue(value: unknown, field: Field, within: string): WrongField | undefined {
  const { kind, name, mayBeNull, mayBeMissing } = field;
  if (value === null && mayBeNull) return undefined;
  if (value === undefined && mayBeMissing) return undefined;
  if (kind in forms) {
    const isStaff = kind === 'actor' && (Object(value) as { type?: unknown }).type === 'staff';
    return wrongField(value, isStaff ? 'staff' : kind, `${within}.${name}`);
  }
  return isInForm(value, kind) ? undefined : { path: `${within}.${name}`, isSurplus: false };
}

function isInForm(value: unknown, kind: Field['kind']): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== '';
    case '#':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case '@':
      return typeof value === 'string' && instant.test(value);
    case '!':
      return typeof value === 'boolean';
    default:
      return value !== undefined;
  }
}

/** Values of fields that events from before these fields lack. */
export function withDefaults(event: Link): Link {
  const { type, data } = event;
  if (type === 'JobFailed') return data.fault === undefined ? { ...event, data: { ...data, fault: 'video' } } : event;
  if (type === 'UsagePeriodEnded') {
    const next = { ...data.next, terms: termsOf(data.next.terms) };
    return { ...event, data: { ...data, next } };
  }
  const hasTerms = type === 'AccountOpened' || type === 'UsagePeriodOpened' || type === 'PlanChanged';
  return hasTerms ? { ...event, data: { ...data, terms: termsOf(data.terms) } } : event;
}

const termsOf = (terms: Terms): Terms => ({
  ...terms,
  service_failures_returned: terms.service_failures_returned !== false,
});

/** The stream of a billing period: its account, and the day on which it starts. */
export function usageStream(accountId: string, periodStart: string): string {
  return `usage-${accountId}-${periodStart.slice(0, 10).replaceAll('-', '')}`;
}

/** As a line of an invoice names the event that it comes from. */
export const sourceOf = ({ stream, revision, id }: Link) => ({ stream, revision, id });

/** The monthly fee of the period that an event brings. */
export function feeLine(event: Link, of: Pick<Link['data'], 'terms' | 'period_start' | 'period_end'>): Line {
  const { terms, period_start, period_end } = of;
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents: terms.fee_cents, event: sourceOf(event) };
}

/**
 * As a line of an invoice writes revisions, each once, as first, last and the step between: 1, 3, 5, 8 are 1 to 5 in steps of
 * 2, and 8.
 *
 * @param most where there would be more, one stands for all from the first event to the last
 */
export function rangesOf(revisions: readonly number[], most: number): [number, number, number][] {
  const ranges: [number, number, number][] = [];
  for (const revision of revisions) {
    const [first, last, step] = ranges.at(-1) ?? [-1, -2, 0];
    const isNext = first === last || revision - last === step;
    if (isNext) ranges.splice(-1, 1, [first, revision, revision - last]);
    else ranges.push([revision, revision, 1]);
  }
  return ranges.length > most ? [[revisions[0] ?? 0, revisions.at(-1) ?? 0, 1]] : ranges;
}
