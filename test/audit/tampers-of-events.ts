import { bytesOf, textOf } from './forged-log.ts';
import type { ForgedLog, Row } from './forged-log.ts';
import type { Random } from './random.ts';
import type { Rule } from '../../src/audit/rules/rules.ts';
import type { Lie } from './tampers-anywhere.ts';

/** Changes to events that keep the chain right: that they are lies only the rules can tell. */

interface TermsFields {
  downloads_limit: number;
  fee_cents: number;
}

/** The fields that are changed here, of whatever event. */
interface Fields {
  account_id: string;
  key_id: string;
  key_hash: string;
  token: string;
  lookup_id: string | undefined;
  ordinal: number;
  cents: number;
  rate_cents: number;
  rate_version: string;
  credits: number;
  downloads: number;
  overage: boolean;
  overage_cents: number;
  overage_cap_cents: number;
  fee_difference_cents: number;
  effective: string;
  terms: TermsFields;
  next: { period_end: string; terms: TermsFields };
  period_start: string;
  period_end: string;
  anchor_day: number;
  url: string;
  idempotency: object | null;
  threshold_percent: number;
  used: number;
  warning_event_id: string | undefined;
  cap_event_id: string | undefined;
  charge_event_id: string | null | undefined;
  fault: string;
  reason: string;
  attempt: number;
  usage_revision: number;
  worker_id: string;
  claim_revision: number;
  file_name?: string;
  number: number;
  total_cents: number;
  lines: { cents: number }[];
  currency: string;
  line: number;
  covers: string;
}

interface Metadata {
  $correlationId: string;
  $causationId: string;
  actor: { type: string; id: string | undefined };
  time: string;
}

interface Parsed extends Row {
  fields: Fields;
  meta: Metadata;
}

export interface EventTamper {
  kind: string;
  /** One of these must be named. */
  rules: readonly Rule[];
  tamper: (log: ForgedLog, random: Random) => Lie | undefined;
}

const parse = (row: Row): Parsed => ({
  ...row,
  fields: JSON.parse(textOf(row.data)) as Fields,
  meta: JSON.parse(textOf(row.metadata)) as Metadata,
});

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  return items
    .map((item) => ({ item, at: random.below(1_000_000) }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/**
 * Changes the data or metadata of an event of a type.
 *
 * @param change in place; returns false where this event will not do
 */
function edit(
  kind: string,
  rule: Rule | readonly Rule[],
  type: string,
  change: (event: Parsed, all: readonly Parsed[]) => unknown,
): EventTamper {
  return {
    kind,
    rules: [rule].flat(),
    tamper: (log, random) => {
      const all = log.rows.map(parse);
      const ofType = shuffled(
        all.filter((row) => row.type === type),
        random,
      );
      for (const event of ofType) {
        if (change(event, all) === false) continue;
        log.write(event.position, { type: event.type, data: bytesOf(event.fields), metadata: bytesOf(event.meta) });
        log.rechain(event.stream_key);
        return { kind, where: event.name };
      }
      return undefined;
    },
  };
}

/** Takes an event out, without a gap. */
function remove(
  kind: string,
  rule: Rule | readonly Rule[],
  type: string,
  isMeant = (_event: Parsed) => true,
): EventTamper {
  return {
    kind,
    rules: [rule].flat(),
    tamper: (log, random) => {
      const [row] = shuffled(
        log.rows.map(parse).filter((event) => event.type === type && isMeant(event)),
        random,
      );
      if (!row) return undefined;
      log.remove(row);
      log.rechain(row.stream_key);
      return { kind, where: row.name };
    },
  };
}

/**
 * Changes a whole billing period.
 *
 * @param change given the opening of a period; returns false where this period will not do
 */
function ofPeriod(kind: string, rule: Rule, change: (opening: Row, log: ForgedLog) => unknown): EventTamper {
  return {
    kind,
    rules: [rule],
    tamper: (log, random) => {
      const openings = log.rows.filter(({ type }) => type === 'UsagePeriodOpened');
      const changed = shuffled(openings, random).find((opening) => change(opening, log) !== false);
      if (!changed) return undefined;
      log.rechain(changed.stream_key);
      return { kind, where: changed.name };
    },
  };
}

/** The same once more, right behind, under an id of its own. */
function repeat(
  kind: string,
  rule: Rule | readonly Rule[],
  type: string,
  change?: (fields: Fields) => unknown,
): EventTamper {
  return {
    kind,
    rules: [rule].flat(),
    tamper: (log, random) => {
      const [row] = shuffled(
        log.rows.map(parse).filter((event) => event.type === type),
        random,
      );
      if (!row) return undefined;
      change?.(row.fields);
      log.insert(row, { id: random.uuid(), type: row.type, data: bytesOf(row.fields), metadata: row.metadata });
      log.rechain(row.stream_key);
      return { kind, where: row.name };
    },
  };
}

const later = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();
const monthMs = 32 * 86_400_000;
const isStaff = ({ meta }: Parsed) => meta.actor.type === 'staff';
const isReturned = ({ meta }: Parsed) => meta.actor.id === 'service-failures';
const systemActor = { type: 'system', id: 'test' };

export const ofEvents: readonly EventTamper[] = [
  edit('a charge of another amount', 'charge_rate', 'OverageCharged', ({ fields }) => (fields.cents += 1)),
  edit('a charge at another rate', 'charge_rate', 'OverageCharged', ({ fields }) => (fields.rate_cents -= 1)),
  edit('a charge by another price list', 'charge_rate', 'OverageCharged', ({ fields }) => (fields.rate_version = 'x')),
  edit('another ordinal', 'charge_ordinal', 'DownloadCreditDebited', ({ fields }) => (fields.ordinal += 1)),
  edit('another ordinal of overage', 'charge_ordinal', 'OverageCharged', ({ fields }) => (fields.ordinal += 1)),
  edit(
    'another ordinal of a metadata request',
    'charge_ordinal',
    'MetadataCreditDebited',
    ({ fields }) => (fields.ordinal += 2),
  ),
  edit('a credit made overage', 'charge_due', 'DownloadCreditDebited', (event) => {
    event.type = 'OverageCharged';
    Object.assign(event.fields, { cents: 25, rate_cents: 25, rate_version: '2026-11' });
  }),
  edit('overage made a credit', 'charge_due', 'OverageCharged', (event) => {
    event.type = 'DownloadCreditDebited';
    event.fields = { token: event.fields.token, ordinal: event.fields.ordinal } as Fields;
  }),
  edit('a charge of another token', 'append_whole', 'OverageCharged', ({ fields }) => (fields.token = 'f'.repeat(24))),
  edit(
    'a credit of another token',
    'append_whole',
    'DownloadCreditDebited',
    ({ fields }) => (fields.token = 'f'.repeat(24)),
  ),
  edit(
    'a download that is overage or not',
    'append_whole',
    'DownloadQueued',
    ({ fields }) => (fields.overage = !fields.overage),
  ),
  edit('a download of another request', 'append_whole', 'DownloadQueued', ({ meta }) => (meta.$correlationId = 'x')),
  edit('another address', 'row_differs', 'DownloadQueued', ({ fields }) => (fields.url = 'https://example.com/x')),
  edit(
    'a charge of the next period',
    'period_time',
    'DownloadCreditDebited',
    ({ meta }) => (meta.time = later(meta.time, monthMs)),
  ),
  edit(
    'overage of the next period',
    'period_time',
    'OverageCharged',
    ({ meta }) => (meta.time = later(meta.time, monthMs)),
  ),
  edit(
    'a charge of the period before',
    'period_time',
    'DownloadCreditDebited',
    ({ meta }) => (meta.time = later(meta.time, -monthMs)),
  ),
  edit(
    'a metadata request after the end',
    'period_time',
    'MetadataCreditDebited',
    ({ meta }) => (meta.time = later(meta.time, monthMs)),
  ),
  edit(
    'a change of plan after the end',
    'period_time',
    'PlanChanged',
    ({ meta }) => (meta.time = later(meta.time, monthMs)),
  ),
  edit('a cap after the end', 'period_time', 'OverageCapSet', ({ meta }) => (meta.time = later(meta.time, monthMs))),
  edit(
    'a period ended too early',
    'period_time',
    'UsagePeriodEnded',
    ({ meta }) => (meta.time = later(meta.time, -monthMs)),
  ),
  edit(
    'a period opened before it begins',
    'period_time',
    'UsagePeriodOpened',
    ({ meta }) => (meta.time = later(meta.time, -monthMs)),
  ),
  edit(
    'time that goes back',
    'chain_time',
    'UsagePeriodClosed',
    ({ meta }) => (meta.time = later(meta.time, -86_400_000)),
  ),
  edit(
    'another difference of the fee',
    'plan_change',
    'PlanChanged',
    ({ fields }) => (fields.fee_difference_cents += 100),
  ),
  edit(
    'a change of plan that holds at no time',
    'plan_change',
    'PlanChanged',
    ({ fields }) => (fields.effective = 'later'),
  ),
  edit(
    'a plan with more credits',
    ['charge_due', 'append_whole', 'period_follows', 'row_differs'],
    'PlanChanged',
    ({ fields }) => (fields.terms.downloads_limit += 5),
  ),
  edit(
    'a lower cap',
    ['overage_cap', 'append_whole', 'row_differs'],
    'OverageCapSet',
    ({ fields }) => (fields.overage_cap_cents = 1),
  ),
  edit('another threshold', 'append_whole', 'UsageWarningReached', ({ fields }) => (fields.threshold_percent -= 1)),
  edit('another use at a warning', 'append_whole', 'UsageWarningReached', ({ fields }) => (fields.used += 1)),
  edit(
    'a cap reached at another sum',
    'append_whole',
    'OverageCapReached',
    ({ fields }) => (fields.overage_cents += 1),
  ),
  edit(
    'a mail about another warning',
    'notice_mailed',
    'UsageWarningMailed',
    ({ fields }, all) => (fields.warning_event_id = all[0]?.id),
  ),
  edit(
    'a mail about another cap',
    'notice_mailed',
    'OverageCapMailed',
    ({ fields }, all) => (fields.cap_event_id = all[0]?.id),
  ),
  edit(
    'a void of more credits',
    'correction_amount',
    'DownloadVoided',
    ({ fields }) => (fields.credits = 1 - fields.credits),
  ),
  edit('a void of another amount', 'correction_amount', 'DownloadVoided', ({ fields }) => (fields.cents += 1)),
  edit(
    'a void of another charge',
    'correction_charge',
    'DownloadVoided',
    ({ fields }, all) => (fields.charge_event_id = all[0]?.id),
  ),
  edit(
    'a void of an unknown download',
    'correction_charge',
    'DownloadVoided',
    ({ fields }) => (fields.token = 'f'.repeat(24)),
  ),
  edit(
    'a void of an unknown metadata request',
    'correction_charge',
    'MetadataCreditVoided',
    ({ fields }, all) => (fields.lookup_id = all[0]?.id),
  ),
  edit('a waiver of more than was left', 'correction_amount', 'ChargeWaived', ({ fields }) => (fields.cents += 1_000)),
  edit(
    'a waiver by nobody',
    'correction_actor',
    'ChargeWaived',
    (event) => isStaff(event) && (event.meta.actor = systemActor),
  ),
  edit(
    'a waiver of another charge',
    'correction_charge',
    'ChargeWaived',
    ({ fields }, all) => (fields.charge_event_id = all[0]?.id),
  ),
  edit(
    'a waiver that is said to be a failure of the service',
    'service_failure_unfounded',
    'ChargeWaived',
    (event) => isStaff(event) && (event.meta.actor = { type: 'system', id: 'service-failures' }),
  ),
  edit(
    'a credit returned for another cause',
    'service_failure_unfounded',
    'DownloadCreditReturned',
    ({ meta }) => (meta.$causationId = 'x'),
  ),
  edit(
    'a credit returned by nobody',
    'correction_actor',
    'DownloadCreditReturned',
    ({ meta }) => (meta.actor = systemActor),
  ),
  edit(
    'a failure of the video made one of the service',
    ['job_order', 'service_failure_returned'],
    'JobFailed',
    ({ fields }) => fields.fault === 'video' && (fields.fault = 'service'),
  ),
  edit(
    'a failure of the service made one of the video',
    'service_failure_unfounded',
    'JobFailed',
    ({ fields }) => fields.fault === 'service' && (fields.fault = 'video'),
  ),
  edit(
    'other terms of the next period',
    'period_follows',
    'UsagePeriodEnded',
    ({ fields }) => (fields.next.terms.fee_cents -= 1),
  ),
  edit(
    'a later next period',
    'period_follows',
    'UsagePeriodEnded',
    ({ fields }) => (fields.next.period_end = later(fields.next.period_end, 86_400_000)),
  ),
  edit(
    'a period with other terms',
    ['period_follows', 'row_differs'],
    'UsagePeriodOpened',
    ({ fields }) => (fields.terms.downloads_limit += 1),
  ),
  edit(
    'a longer period',
    ['period_follows', 'period_time'],
    'UsagePeriodOpened',
    ({ fields }) => (fields.period_end = later(fields.period_end, 86_400_000)),
  ),
  edit('other totals of downloads', 'period_totals', 'UsagePeriodClosed', ({ fields }) => (fields.downloads += 1)),
  edit('other totals of cents', 'period_totals', 'UsagePeriodClosed', ({ fields }) => (fields.overage_cents += 1)),
  edit('another anchor day', 'account_terms', 'AccountOpened', ({ fields }) => (fields.anchor_day = 15)),
  edit(
    'an account opened with other terms',
    'period_follows',
    'AccountOpened',
    ({ fields }) => (fields.terms.fee_cents += 100),
  ),
  edit('a key of another hash', 'row_differs', 'ApiKeyIssued', ({ fields }) => (fields.key_hash = 'f'.repeat(64))),
  edit(
    'a key revoked that is another',
    'account_events',
    'ApiKeyRevoked',
    ({ fields }) => (fields.key_id = 'key_unknown0000000000'),
  ),
  edit('a charge by a key of another account', 'actor_key', 'OverageCharged', ({ meta, name }, all) => {
    const foreign = all.find((other) => other.type === 'ApiKeyIssued' && !name.includes(other.fields.account_id));
    meta.actor = { type: 'api_key', id: foreign?.fields.key_id };
  }),
  edit(
    'a credit taken by an unknown key',
    'actor_key',
    'DownloadCreditDebited',
    ({ meta }) => (meta.actor = { type: 'api_key', id: 'key_unknown0000000000' }),
  ),
  edit('a charge by a revoked key', 'actor_key_revoked', 'DownloadCreditDebited', ({ meta, name }, all) => {
    const revoked = all.find((other) => other.type === 'ApiKeyRevoked' && name.includes(other.fields.account_id));
    if (!revoked || later(revoked.meta.time, 60_000) > meta.time) return false;
    meta.actor = { type: 'api_key', id: revoked.fields.key_id };
    return true;
  }),
  edit('an idempotency key taken twice', 'idempotency_key', 'DownloadQueued', ({ fields, name, position }, all) => {
    const voided = new Set(all.filter(({ type }) => type === 'DownloadVoided').map((event) => event.fields.token));
    const isOther = (other: Parsed) =>
      other.name === name && other.position < position && other.type === 'DownloadQueued';
    const holder = all.find((other) => isOther(other) && other.fields.idempotency && !voided.has(other.fields.token));
    if (!holder) return false;
    fields.idempotency = holder.fields.idempotency;
    return true;
  }),
  edit('another attempt', 'job_claim', 'JobClaimed', ({ fields }) => (fields.attempt += 1)),
  edit(
    'a claim for another account',
    'job_claim',
    'JobClaimed',
    ({ fields }) => (fields.account_id = `acc_${'f'.repeat(20)}`),
  ),
  edit('a claim for another event', 'job_claim', 'JobClaimed', ({ fields }) => (fields.usage_revision += 1)),
  edit('a start by another worker', 'job_claim', 'JobStarted', ({ fields }) => (fields.worker_id = 'wrk_x')),
  edit('a file of another claim', 'job_claim', 'JobCompleted', ({ fields }) => (fields.claim_revision += 1)),
  edit(
    'a failure for another reason',
    ['job_order', 'row_differs'],
    'JobFailed',
    ({ fields }) => fields.reason !== 'voided' && (fields.reason = 'voided'),
  ),
  edit(
    'a job released for another reason',
    ['job_order', 'row_differs'],
    'JobReleased',
    ({ fields }) => (fields.reason = 'private_video'),
  ),
  edit('an invoice of another amount', 'invoice_lines', 'InvoiceIssued', ({ fields }) => (fields.total_cents += 1)),
  edit('a line of another amount', 'invoice_lines', 'InvoiceIssued', ({ fields }) =>
    fields.lines.forEach((line) => (line.cents += 1)),
  ),
  edit('an invoice without a line', 'invoice_lines', 'InvoiceIssued', ({ fields }) => fields.lines.pop()),
  edit('an invoice of another number', 'invoice_number', 'InvoiceIssued', ({ fields }) => (fields.number += 1)),
  edit('an invoice in another currency', 'invoice_lines', 'InvoiceIssued', ({ fields }) => (fields.currency = 'EUR')),
  edit(
    'an invoice of another period',
    ['invoice_due', 'invoice_lines'],
    'InvoiceIssued',
    ({ fields }) => (fields.period_start = '2020-01-01T00:00:00.000Z'),
  ),
  edit(
    'a credit note of more than the invoice',
    'credit_note_amount',
    'CreditNoteIssued',
    ({ fields }) => (fields.cents += 100_000),
  ),
  edit('a credit note of no line', 'credit_note_line', 'CreditNoteIssued', ({ fields }) => (fields.line = 99)),
  edit('a credit note by nobody', 'correction_actor', 'CreditNoteIssued', ({ meta }) => (meta.actor = systemActor)),
  edit('a credit note of another number', 'invoice_number', 'CreditNoteIssued', ({ fields }) => (fields.number += 1)),
  edit(
    'a credit note about another charge',
    'credit_note_line',
    'CreditNoteIssued',
    ({ fields }, all) => fields.charge_event_id !== null && (fields.charge_event_id = all[0]?.id),
  ),
  edit('a field more', 'event_form', 'JobStarted', ({ fields }) => Object.assign(fields, { also: 1 })),
  edit('a field less', 'event_form', 'JobCompleted', ({ fields }) => delete fields.file_name),
  edit('a number that is a text', 'event_form', 'OverageCharged', ({ fields }) =>
    Object.assign(fields, { cents: '25' }),
  ),
  edit(
    'an acknowledgement by nobody',
    'acknowledgement',
    'DivergenceAcknowledged',
    ({ meta }) => (meta.actor = systemActor),
  ),
  remove('a charge taken out', ['append_whole', 'period_order'], 'OverageCharged'),
  remove('a credit taken out', ['append_whole', 'period_order'], 'DownloadCreditDebited'),
  remove('a queued download taken out', 'append_whole', 'DownloadQueued'),
  remove('a metadata request taken out', ['charge_ordinal', 'row_differs'], 'MetadataCreditDebited'),
  remove('a warning taken out', 'append_whole', 'UsageWarningReached'),
  remove('a reached cap taken out', 'append_whole', 'OverageCapReached'),
  remove('a revocation taken out', 'row_differs', 'ApiKeyRevoked'),
  remove('an issued key taken out', ['account_events', 'actor_key'], 'ApiKeyIssued'),
  remove('an opening taken out', ['account_events', 'period_order'], 'AccountOpened'),
  remove('the opening of a period taken out', 'period_order', 'UsagePeriodOpened'),
  remove('the end of a period taken out', ['period_order', 'period_follows', 'period_not_ended'], 'UsagePeriodEnded'),
  remove('the close of a period taken out', 'invoice_due', 'UsagePeriodClosed'),
  remove('a claim taken out', 'job_order', 'JobClaimed'),
  remove('a first invoice taken out', 'invoice_missing', 'InvoiceIssued', ({ fields }) => fields.covers === 'opening'),
  remove(
    "a period's invoice taken out",
    'invoice_missing',
    'InvoiceIssued',
    ({ fields }) => fields.covers === 'period',
  ),
  remove(
    'a returned credit taken out',
    // Where the download was voided later, the void says that nothing was left.
    ['service_failure_returned', 'correction_amount'],
    'DownloadCreditReturned',
  ),
  remove(
    'a failure of the service taken out',
    'service_failure_unfounded',
    'JobFailed',
    ({ fields }) => fields.fault === 'service',
  ),
  remove(
    'a waiver for a failure of the service taken out',
    ['service_failure_returned', 'correction_amount'],
    'ChargeWaived',
    isReturned,
  ),
  ofPeriod('the first event of a period gone', 'chain_revision', ({ position }, log) => {
    log.run('delete from events where position = ?', position);
  }),
  ofPeriod('the newest period of an account gone', 'period_missing', ({ stream_key: key, name }, log) => {
    const account = name.slice(0, name.lastIndexOf('-'));
    if (log.rows.some((other) => other.name.startsWith(account) && other.name > name)) return false;
    log.run('delete from events where stream_key = ?', key);
    log.run('delete from streams where stream_key = ?', key);
    return true;
  }),
  ofPeriod('a give-back where the terms have none', 'correction_actor', ({ stream_key: key }, log) => {
    const events = log.ofStream(key).map(parse);
    if (!events.some(({ type }) => type === 'DownloadCreditReturned')) return false;
    for (const { position, fields, type } of events) {
      if (type !== 'UsagePeriodOpened' && type !== 'PlanChanged') continue;
      const terms = { ...fields.terms, service_failures_returned: false };
      log.write(position, { data: bytesOf({ ...fields, terms }) });
    }
    return true;
  }),
  repeat('a void twice', 'correction_charge', 'DownloadVoided'),
  repeat(
    'a void after a confirmation',
    ['correction_charge', 'event_form'],
    'DownloadConfirmed',
    (fields) => (fields.cents = 1),
  ),
  repeat('a waiver twice', 'correction_reference', 'ChargeWaived'),
  repeat('a returned credit twice', ['correction_amount', 'service_failure_unfounded'], 'DownloadCreditReturned'),
  repeat('a credit note twice', 'correction_reference', 'CreditNoteIssued'),
  repeat('an invoice twice', 'invoice_due', 'InvoiceIssued'),
  repeat('a mail twice', 'notice_mailed', 'UsageWarningMailed'),
  repeat('a start twice', 'job_order', 'JobStarted'),
  repeat('an expiry twice', 'job_order', 'FileExpired'),
  repeat('a key issued twice', 'account_events', 'ApiKeyIssued'),
  repeat('a key revoked twice', 'account_events', 'ApiKeyRevoked'),
  repeat('a period closed twice', 'period_order', 'UsagePeriodClosed'),
  repeat('a period ended twice', 'period_order', 'UsagePeriodEnded'),
  repeat('a warning twice', 'period_order', 'UsageWarningReached'),
];
