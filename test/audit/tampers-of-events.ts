import type { Link } from '../../src/audit/rules/event-schemas.ts';
import type { Rule } from '../../src/audit/rules/rules.ts';
import { bytesOf, type ForgedLog, type Row, textOf } from './forged-log.ts';
import type { Random } from './random.ts';

/** Changes to events that keep the chain right: that they are lies only the rules can tell. */

/** An event, with its data and metadata parsed: the fields of all types together, and any may be changed. */
export interface Parsed extends Row {
  fields: Link['data'];
  meta: Link['metadata'];
}

export interface EventTamper {
  kind: string;
  /** One of these must be named. */
  rules: readonly Rule[];
  /** @returns false where the log has no event for it */
  tamper: (log: ForgedLog, random: Random) => boolean;
}

export const parse = (row: Row): Parsed => ({
  ...row,
  fields: JSON.parse(textOf(row.data)) as Parsed['fields'],
  meta: JSON.parse(textOf(row.metadata)) as Parsed['meta'],
});

type Rules = Rule | readonly Rule[];

/** @param change of one event of a type; returns false where this event will not do */
export function tamperWith(
  kind: string,
  rules: Rules,
  type: string,
  change: (event: Parsed, log: ForgedLog, random: Random) => unknown,
): EventTamper {
  return {
    kind,
    rules: [rules].flat(),
    tamper: (log, random) => {
      const ofType = log.rows.filter((row) => row.type === type);
      const changed = random.shuffled(ofType).find((row) => change(parse(row), log, random) !== false);
      if (changed) log.rechain(changed.stream_key);
      return changed !== undefined;
    },
  };
}

type Change = (event: Parsed, all: readonly Parsed[]) => unknown;

/** Changes the data or metadata of an event. @param change in place; returns false where this event will not do */
export const edit = (kind: string, rules: Rules, type: string, change: Change) =>
  tamperWith(kind, rules, type, (event, log) => {
    if (change(event, log.rows.map(parse)) === false) return false;
    log.write(event.position, { type: event.type, data: bytesOf(event.fields), metadata: bytesOf(event.meta) });
    return true;
  });

export const edits = (type: string, rows: readonly [kind: string, rules: Rules, change: Change][]) =>
  rows.map(([kind, rules, change]) => edit(kind, rules, type, change));

/** An event that is right in itself, in a stream where none of its type belongs. */
const ofJobInPlaceOf = (type: string) =>
  edit(`an event of a job in place of ${type}`, 'event_form', type, (event, all) => {
    const started = all.find((other) => other.type === 'JobStarted');
    return started !== undefined && Object.assign(event, { type: started.type, fields: started.fields });
  });

/** Takes an event out, without a gap. */
export const remove = (kind: string, rules: Rules, type: string, isMeant = (_event: Parsed) => true) =>
  tamperWith(kind, rules, type, (event, log) => isMeant(event) && log.remove(event));

/** Changes a whole billing period. @param change given its opening; returns false where this period will not do */
const ofPeriod = (kind: string, rule: Rule, change: (opening: Row, log: ForgedLog) => unknown) =>
  tamperWith(kind, rule, 'UsagePeriodOpened', change);

/** The same once more, right behind, under an id of its own. */
export const repeat = (kind: string, rules: Rules, type: string, change?: (fields: Parsed['fields']) => unknown) =>
  tamperWith(kind, rules, type, (event, log, random) => {
    change?.(event.fields);
    log.insert(event, { ...event, id: random.uuid(), data: bytesOf(event.fields) });
  });

const later = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();
const monthMs = 32 * 86_400_000;
const isStaff = ({ meta }: Parsed) => meta.actor.type === 'staff';
const isReturned = ({ meta }: Parsed) => meta.actor.id === 'service-failures';
const linesOf = ({ lines }: Parsed['fields']) => lines as { cents: number }[];

/** Of a failed download: whether a failure of the service would give back something of its charge. */
function isReturnable({ fields: { token } }: Parsed, all: readonly Parsed[]): boolean {
  const charge = all.find((event) => event.type === 'OverageCharged' && event.fields.token === token);
  if (!charge) return false;
  const terms = all.filter(({ name, fields }) => name === charge.name && 'terms' in fields);
  const isGivenBack = all.some(
    ({ type, fields }) =>
      (['ChargeWaived', 'DownloadVoided'].includes(type) && fields.token === token) ||
      (type === 'CreditNoteIssued' && fields.charges.some(({ token: credited }) => credited === token)),
  );
  return terms.every(({ fields }) => fields.terms.service_failures_returned) && !isGivenBack;
}

interface Named {
  token: string;
  cents: number;
}

const isAboutCharges = ({ correction }: Parsed['fields']) => (correction as { kind: string }).kind === 'charges';

/** @param change of what a credit note names; returns false where this note will not do */
function ofCharges(
  { charges }: Parsed['fields'],
  change: (charges: (Named & { charge_event_id: string })[]) => unknown,
): unknown {
  return charges.length > 0 && change(charges as never) !== false;
}

const systemActor = { type: 'system', id: 'test' };

export const ofEvents: readonly EventTamper[] = [
  ...edits('OverageCharged', [
    ['a charge of another amount', 'charge_rate', ({ fields }) => (fields.cents += 1)],
    ['a charge at another rate', 'charge_rate', ({ fields }) => (fields.rate_cents -= 1)],
    ['a charge by another price list', 'charge_rate', ({ fields }) => (fields.rate_version = 'x')],
    ['another ordinal of overage', 'charge_ordinal', ({ fields }) => (fields.ordinal += 1)],
    ['a charge of another token', 'append_whole', ({ fields }) => (fields.token = 'f'.repeat(24))],
    ['overage of the next period', 'period_time', ({ meta }) => (meta.time = later(meta.time, monthMs))],
    ['a number that is a text', 'event_form', ({ fields }) => Object.assign(fields, { cents: '25' })],
  ]),
  edit('overage made a credit', 'charge_due', 'OverageCharged', (event) => {
    event.type = 'DownloadCreditDebited';
    event.fields = { token: event.fields.token, ordinal: event.fields.ordinal } as Parsed['fields'];
  }),
  edit('a charge by a key of another account', 'actor_key', 'OverageCharged', ({ meta, name }, all) => {
    const foreign = all.find((other) => other.type === 'ApiKeyIssued' && !name.includes(other.fields.account_id));
    meta.actor = { type: 'api_key', id: foreign!.fields.key_id };
  }),
  ...edits('DownloadCreditDebited', [
    ['another ordinal', 'charge_ordinal', ({ fields }) => (fields.ordinal += 1)],
    ['a credit of another token', 'append_whole', ({ fields }) => (fields.token = 'f'.repeat(24))],
    ['a charge of the next period', 'period_time', ({ meta }) => (meta.time = later(meta.time, monthMs))],
    ['a charge of the period before', 'period_time', ({ meta }) => (meta.time = later(meta.time, -monthMs))],
    [
      'a credit taken by an unknown key',
      'actor_key',
      ({ meta }) => (meta.actor = { type: 'api_key', id: 'key_unknown0000000000' }),
    ],
  ]),
  edit('a credit made overage', 'charge_due', 'DownloadCreditDebited', (event) => {
    event.type = 'OverageCharged';
    Object.assign(event.fields, { cents: 25, rate_cents: 25, rate_version: '2026-11' });
  }),
  edit('a charge by a revoked key', 'actor_key_revoked', 'DownloadCreditDebited', ({ meta, name }, all) => {
    const revoked = all.find((other) => other.type === 'ApiKeyRevoked' && name.includes(other.fields.account_id));
    if (!revoked || later(revoked.meta.time, 60_000) > meta.time) return false;
    meta.actor = { type: 'api_key', id: revoked.fields.key_id };
    return true;
  }),
  edit('a charge by a person of another account', 'actor_person', 'OverageCharged', ({ meta, name }, all) => {
    const foreign = all.find((other) => other.type === 'PersonInvited' && !name.includes(other.fields.account_id));
    meta.actor = { type: 'owner', id: foreign!.fields.person_id };
  }),
  edit('a charge by a removed person', 'actor_person', 'DownloadCreditDebited', ({ meta, name }, all) => {
    const removed = all.find((other) => other.type === 'PersonRemoved' && name.includes(other.fields.account_id));
    if (!removed || later(removed.meta.time, 60_000) > meta.time) return false;
    meta.actor = { type: 'owner', id: removed.fields.person_id };
    return true;
  }),
  ...edits('MetadataCreditDebited', [
    ['another ordinal of a metadata request', 'charge_ordinal', ({ fields }) => (fields.ordinal += 2)],
    ['a metadata request after the end', 'period_time', ({ meta }) => (meta.time = later(meta.time, monthMs))],
  ]),
  ...edits('DownloadQueued', [
    ['a download that is overage or not', 'append_whole', ({ fields }) => (fields.overage = !fields.overage)],
    ['a download of another request', 'append_whole', ({ meta }) => (meta.$correlationId = 'x')],
    ['another address', 'row_differs', ({ fields }) => (fields.url = 'https://example.com/x')],
  ]),
  edit('an idempotency key taken twice', 'idempotency_key', 'DownloadQueued', ({ fields, name, position }, all) => {
    const voided = new Set(all.filter(({ type }) => type === 'DownloadVoided').map((event) => event.fields.token));
    const isOther = (other: Parsed) =>
      other.name === name && other.position < position && other.type === 'DownloadQueued';
    const holder = all.find((other) => isOther(other) && other.fields.idempotency && !voided.has(other.fields.token));
    if (!holder) return false;
    fields.idempotency = holder.fields.idempotency;
    return true;
  }),
  ...edits('PlanChanged', [
    ['a change of plan after the end', 'period_time', ({ meta }) => (meta.time = later(meta.time, monthMs))],
    ['another difference of the fee', 'plan_change', ({ fields }) => (fields.fee_difference_cents += 100)],
    ['a change of plan that holds at no time', 'plan_change', ({ fields }) => (fields.effective = 'later')],
    [
      'a change of plan of another chooser',
      ['plan_change', 'row_differs'],
      ({ fields }) => (fields.chosen_by_owner = fields.chosen_by_owner === true ? undefined : true),
    ],
    [
      'a plan with more credits',
      ['charge_due', 'append_whole', 'period_follows', 'row_differs'],
      ({ fields }) => (fields.terms.downloads_limit += 5),
    ],
  ]),
  ...edits('OverageCapSet', [
    ['a cap after the end', 'period_time', ({ meta }) => (meta.time = later(meta.time, monthMs))],
    ['a lower cap', ['overage_cap', 'append_whole', 'row_differs'], ({ fields }) => (fields.overage_cap_cents = 1)],
  ]),
  ...edits('UsagePeriodEnded', [
    [
      'a period ended too early',
      'period_time',
      ({ meta, fields }) => fields.next !== null && (meta.time = later(meta.time, -monthMs)),
    ],
    [
      'other terms of the next period',
      'period_follows',
      ({ fields: { next } }) => next !== null && (next.terms.fee_cents -= 1),
    ],
    [
      'a later next period',
      'period_follows',
      ({ fields: { next } }) => next !== null && (next.period_end = later(next.period_end, 86_400_000)),
    ],
  ]),
  ...edits('UsagePeriodOpened', [
    ['a period opened before it begins', 'period_time', ({ meta }) => (meta.time = later(meta.time, -monthMs))],
    [
      'a period with other terms',
      ['period_follows', 'row_differs'],
      ({ fields }) => (fields.terms.downloads_limit += 1),
    ],
    [
      'a longer period',
      ['period_follows', 'period_time'],
      ({ fields }) => (fields.period_end = later(fields.period_end, 86_400_000)),
    ],
  ]),
  ...edits('UsagePeriodClosed', [
    ['time that goes back', 'chain_time', ({ meta }) => (meta.time = later(meta.time, -86_400_000))],
    ['other totals of downloads', 'period_totals', ({ fields }) => (fields.downloads += 1)],
    ['other totals of cents', 'period_totals', ({ fields }) => (fields.overage_cents += 1)],
  ]),
  edit('another threshold', 'append_whole', 'UsageWarningReached', ({ fields }) => (fields.threshold_percent -= 1)),
  edit('another use at a warning', 'append_whole', 'UsageWarningReached', ({ fields }) => (fields.used += 1)),
  ...edits('OverageCapReached', [
    ['a cap reached at another sum', 'append_whole', ({ fields }) => (fields.overage_cents += 1)],
  ]),
  ...edits('UsageWarningMailed', [
    ['a mail about another warning', 'notice_mailed', ({ fields }, all) => (fields.warning_event_id = all[0]!.id)],
  ]),
  ...edits('OverageCapMailed', [
    ['a mail about another cap', 'notice_mailed', ({ fields }, all) => (fields.cap_event_id = all[0]!.id)],
  ]),
  ...edits('DownloadVoided', [
    ['a void of more credits', 'correction_amount', ({ fields }) => (fields.credits = 1 - fields.credits)],
    ['a void of another amount', 'correction_amount', ({ fields }) => (fields.cents += 1)],
    ['a void of another charge', 'correction_charge', ({ fields }, all) => (fields.charge_event_id = all[0]!.id)],
    ['a void of an unknown download', 'correction_charge', ({ fields }) => (fields.token = 'f'.repeat(24))],
  ]),
  edit(
    'a void of an unknown metadata request',
    'correction_charge',
    'MetadataCreditVoided',
    ({ fields }, all) => (fields.lookup_id = all[0]!.id),
  ),
  ...edits('ChargeWaived', [
    ['a waiver of more than was left', 'correction_amount', ({ fields }) => (fields.cents += 1_000)],
    ['a waiver by nobody', 'correction_actor', (event) => isStaff(event) && (event.meta.actor = systemActor)],
    ['a waiver of another charge', 'correction_charge', ({ fields }, all) => (fields.charge_event_id = all[0]!.id)],
    [
      'a waiver that is said to be a failure of the service',
      'service_failure_unfounded',
      (event) => isStaff(event) && (event.meta.actor = { type: 'system', id: 'service-failures' }),
    ],
  ]),
  ...edits('DownloadCreditReturned', [
    ['a credit returned for another cause', 'service_failure_unfounded', ({ meta }) => (meta.$causationId = 'x')],
    ['a credit returned by nobody', 'correction_actor', ({ meta }) => (meta.actor = systemActor)],
  ]),
  ...edits('JobFailed', [
    [
      'a failure of the video made one of the service',
      ['job_order', 'service_failure_returned'],
      (event, all) =>
        event.fields.fault === 'video' &&
        (event.fields.reason === 'voided' || isReturnable(event, all)) &&
        (event.fields.fault = 'service'),
    ],
    [
      'a failure of the service made one of the video',
      'service_failure_unfounded',
      ({ fields }) => fields.fault === 'service' && (fields.fault = 'video'),
    ],
    [
      'a failure for another reason',
      ['job_order', 'row_differs'],
      ({ fields }) => fields.reason !== 'voided' && (fields.reason = 'voided'),
    ],
  ]),
  ...edits('AccountOpened', [
    ['another anchor day', 'account_terms', ({ fields }) => (fields.anchor_day = 15)],
    ['an account opened with other terms', 'period_follows', ({ fields }) => (fields.terms.fee_cents += 100)],
  ]),
  edit('a key of another hash', 'row_differs', 'ApiKeyIssued', ({ fields }) => (fields.key_hash = 'f'.repeat(64))),
  ...edits('ApiKeyRevoked', [
    ['a key revoked that is another', 'account_events', ({ fields }) => (fields.key_id = 'key_unknown0000000000')],
  ]),
  ...edits('PersonRemoved', [
    ['a person removed who is another', 'account_events', ({ fields }) => (fields.person_id = 'per_unknown0000000000')],
  ]),
  edit('the last person removed', 'account_events', 'PersonInvited', (event) => {
    event.type = 'PersonRemoved';
    const { account_id } = event.fields;
    event.fields = { account_id, person_id: account_id.replace('acc_', 'per_') } as Parsed['fields'];
  }),
  edit('billing details changed by a key', 'details_actor', 'BillingDetailsChanged', ({ meta, fields }, all) => {
    const issued = all.find((other) => other.type === 'ApiKeyIssued' && other.fields.account_id === fields.account_id);
    meta.actor = { type: 'api_key', id: issued!.fields.key_id };
  }),
  edit(
    'billing details changed by a person of another account',
    'actor_person',
    'BillingDetailsChanged',
    (event, all) => {
      const isForeign = ({ type, fields }: Parsed) =>
        type === 'PersonInvited' && fields.account_id !== event.fields.account_id;
      event.meta.actor = { type: 'owner', id: all.find(isForeign)!.fields.person_id };
    },
  ),
  edit('billing details of another account', 'account_events', 'BillingDetailsChanged', ({ fields }, all) => {
    const other = all.find(
      ({ type, fields: opened }) => type === 'AccountOpened' && opened.account_id !== fields.account_id,
    );
    fields.account_id = other!.fields.account_id;
  }),
  ...edits('IssuerDetailsChanged', [
    ['an issuer without a name', 'event_form', ({ fields }) => (fields.name = '')],
    [
      'an issuer named by an owner',
      'details_actor',
      ({ meta }, all) => {
        meta.actor = { type: 'owner', id: all.find(({ type }) => type === 'PersonInvited')!.fields.person_id };
      },
    ],
  ]),
  ...edits('JobClaimed', [
    ['another attempt', 'job_claim', ({ fields }) => (fields.attempt += 1)],
    ['a claim for another account', 'job_claim', ({ fields }) => (fields.account_id = `acc_${'f'.repeat(20)}`)],
    ['a claim for another event', 'job_claim', ({ fields }) => (fields.usage_revision += 1)],
  ]),
  edit('a start by another worker', 'job_claim', 'JobStarted', ({ fields }) => (fields.worker_id = 'wrk_x')),
  edit('a field more', 'event_form', 'JobStarted', ({ fields }) => Object.assign(fields, { also: 1 })),
  edit('a file of another claim', 'job_claim', 'JobCompleted', ({ fields }) => (fields.claim_revision += 1)),
  ...['ApiKeyIssued', 'OverageCapSet', 'CreditNoteIssued', 'IssuerDetailsChanged'].map(ofJobInPlaceOf),
  edit('a field less', 'event_form', 'JobCompleted', ({ fields }) => Reflect.deleteProperty(fields, 'file_name')),
  edit(
    'a job released for another reason',
    ['job_order', 'row_differs'],
    'JobReleased',
    ({ fields }) => (fields.reason = 'private_video'),
  ),
  ...edits('InvoiceIssued', [
    ['an invoice of another amount', 'invoice_lines', ({ fields }) => (fields.total_cents += 1)],
    ['a line of another amount', 'invoice_lines', ({ fields }) => linesOf(fields).forEach((line) => (line.cents += 1))],
    ['an invoice without a line', 'invoice_lines', ({ fields }) => linesOf(fields).pop()],
    ['an invoice of another number', 'invoice_number', ({ fields }) => (fields.number += 1)],
    ['an invoice in another currency', 'invoice_lines', ({ fields }) => (fields.currency = 'EUR')],
    [
      'an invoice of another period',
      ['invoice_due', 'invoice_lines'],
      ({ fields }) => (fields.period_start = '2020-01-01T00:00:00.000Z'),
    ],
  ]),
  edit('an invoice mailed to somebody of another account', 'document_mailed', 'InvoiceIssued', ({ fields }, all) => {
    const isForeign = (other: Parsed) =>
      other.type === 'PersonInvited' && other.fields.account_id !== fields.account_id;
    fields.mail_to = [all.find(isForeign)!.fields.person_id];
  }),
  edit('an invoice that names nobody any more', ['document_mailed', 'row_surplus'], 'InvoiceIssued', ({ fields }) => {
    fields.mail_to = [];
  }),
  ...edits('DocumentMailed', [
    ['a mail to another person', 'document_mailed', ({ fields }) => (fields.person_id = 'per_unknown0000000000')],
    ['a mail about another document', 'document_mailed', ({ fields }, all) => (fields.document_event_id = all[0]!.id)],
    ['a mail of another account', 'document_mailed', ({ fields }) => (fields.account_id = `acc_${'f'.repeat(20)}`)],
    [
      'a mail that nobody needed, though the person is there',
      'document_mailed',
      ({ fields }) => fields.message_id !== null && (fields.message_id = null as never),
    ],
  ]),
  ...edits('DocumentMailAsked', [
    ['a mail asked again for nobody known', 'document_mailed', ({ fields }) => (fields.mail_to = ['per_unknown'])],
    [
      'a mail asked again for somebody twice',
      'event_form',
      ({ fields }) => (fields.mail_to = [...fields.mail_to!, ...fields.mail_to!]),
    ],
    [
      'a mail asked again about no document',
      'document_mailed',
      ({ fields }, all) => (fields.document_event_id = all[0]!.id),
    ],
    ['a mail asked again about another revision', 'document_mailed', ({ fields }) => (fields.document_revision += 1)],
    ['a mail asked again by nobody of staff', 'document_mailed', ({ meta }) => (meta.actor = systemActor)],
  ]),
  remove('a record of a mail about a document taken out', 'row_differs', 'DocumentMailed'),
  ...edits('CreditNoteIssued', [
    ['a credit note mailed to nobody known', 'document_mailed', ({ fields }) => (fields.mail_to = ['per_unknown'])],
    ['a credit note of more than the invoice', 'credit_note_amount', ({ fields }) => (fields.cents += 100_000)],
    ['a credit note of no line', 'credit_note_line', ({ fields }) => (fields.line = 99)],
    ['a credit note by nobody', 'correction_actor', ({ meta }) => (meta.actor = systemActor)],
    ['a credit note of another number', 'invoice_number', ({ fields }) => (fields.number += 1)],
    [
      'a credit note about another charge',
      'credit_note_line',
      ({ fields }, all) => ofCharges(fields, ([first]) => (first!.charge_event_id = all[0]!.id)),
    ],
    [
      'a credit note about the charge of another download',
      'credit_note_line',
      ({ fields }) => ofCharges(fields, ([first]) => (first!.token = 'f'.repeat(24))),
    ],
    [
      'a credit note that gives back more of a charge than it says in all',
      'correction_sum',
      ({ fields }) => ofCharges(fields, ([first]) => (first!.cents += 1)),
    ],
    [
      'a credit note of more of a charge than was asked for',
      'correction_permitted',
      ({ fields }) =>
        ofCharges(fields, ([first]) => {
          first!.cents += 1;
          fields.cents += 1;
        }),
    ],
    [
      'a credit note that names a charge twice',
      'correction_sum',
      ({ fields }) =>
        ofCharges(fields, (charges) => {
          charges.push({ ...charges[0]! });
          fields.cents += charges[0]!.cents;
        }),
    ],
    [
      'a credit note that moves cents from one charge to another',
      'correction_permitted',
      ({ fields }) =>
        ofCharges(fields, ([one, other]) => {
          if (!other || other.cents < 2) return false;
          one!.cents += 1;
          other.cents -= 1;
          return true;
        }),
    ],
    [
      'a credit note about charges that names none',
      'correction_permitted',
      ({ fields }) => ofCharges(fields, (charges) => charges.splice(0)),
    ],
    [
      'a credit note without a list of charges',
      'event_form',
      ({ fields }) => delete (fields as Partial<typeof fields>).charges,
    ],
    [
      'a credit note whose charge has no amount',
      'event_form',
      ({ fields }) => ofCharges(fields, ([first]) => delete (first as Partial<typeof first>)!.cents),
    ],
  ]),
  ...edits('CorrectionAsked', [
    [
      'a request of more than its charges',
      'correction_sum',
      ({ fields }) => isAboutCharges(fields) && (fields.cents += 1),
    ],
    [
      'a request that names a charge twice',
      'correction_sum',
      ({ fields }) => {
        if (!isAboutCharges(fields)) return false;
        const { charges } = fields.correction as { charges: Named[] };
        fields.cents += charges[0]!.cents;
        return charges.push({ ...charges[0]! });
      },
    ],
  ]),
  ...edits('DivergenceAcknowledged', [
    ['an acknowledgement by nobody', 'acknowledgement', ({ meta }) => (meta.actor = systemActor)],
  ]),
  remove('a charge taken out', ['append_whole', 'period_order'], 'OverageCharged'),
  remove('a credit taken out', ['append_whole', 'period_order'], 'DownloadCreditDebited'),
  remove('a queued download taken out', 'append_whole', 'DownloadQueued'),
  remove('a metadata request taken out', ['charge_ordinal', 'row_differs'], 'MetadataCreditDebited'),
  remove('a warning taken out', 'append_whole', 'UsageWarningReached'),
  remove('a reached cap taken out', 'append_whole', 'OverageCapReached'),
  remove('a revocation taken out', 'row_differs', 'ApiKeyRevoked'),
  remove('an issued key taken out', ['account_events', 'actor_key'], 'ApiKeyIssued'),
  remove('an invitation taken out', 'account_events', 'PersonInvited'),
  remove('an opening taken out', ['account_events', 'period_order'], 'AccountOpened'),
  remove('the opening of a period taken out', 'period_order', 'UsagePeriodOpened'),
  remove(
    'the end of a period taken out',
    ['period_order', 'period_follows', 'period_not_ended'],
    'UsagePeriodEnded',
    ({ fields }) => fields.next !== null,
  ),
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
    log.removeStream(key);
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
  repeat('a mail about a document twice', 'document_mailed', 'DocumentMailed'),
  repeat('a mail asked for twice', 'document_mailed', 'DocumentMailAsked'),
  repeat('a start twice', 'job_order', 'JobStarted'),
  repeat('an expiry twice', 'job_order', 'FileExpired'),
  repeat('a key issued twice', 'account_events', 'ApiKeyIssued'),
  repeat('a key revoked twice', 'account_events', 'ApiKeyRevoked'),
  repeat('a person invited twice', 'account_events', 'PersonInvited'),
  repeat('a person removed twice', 'account_events', 'PersonRemoved'),
  repeat('a period closed twice', 'period_order', 'UsagePeriodClosed'),
  repeat('a period ended twice', 'period_order', 'UsagePeriodEnded'),
  repeat('a warning twice', 'period_order', 'UsageWarningReached'),
];
