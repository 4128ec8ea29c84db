import type { RecordedEvent } from './audited-log.ts';
import {
  anything,
  count,
  flag,
  ids,
  instant,
  listOf,
  nullable,
  optional,
  part,
  type Schema,
  text,
  type ValueOf,
  type WrongField,
} from './field-kinds.ts';
import { parseStreamName, type StreamName } from './streams.ts';

/** Written from docs/events.md, and not from the code of the service. */

const staff = part({ type: text, id: text, role: text, reason: text });
const anyoneElse = part({ type: text, id: text });

/** Staff give their role and a reason besides. */
const actor: typeof anyoneElse = (value) => {
  const isStaff = (Object(value) as { type?: unknown }).type === 'staff';
  return isStaff ? staff(value) : anyoneElse(value);
};

const metadata = part({
  $correlationId: text,
  $causationId: text,
  $traceparent: optional(text),
  schema: count,
  actor,
  time: instant,
  hash: text,
});

/** Null: no limit. */
const keyLimit = part({ downloads: nullable(count), overage_cents: nullable(count), until: nullable(instant) });
/** Limits by the id of their key. */
const byKey: Schema<Readonly<Record<string, ValueOf<typeof keyLimit>>>> = (value) =>
  Object.entries(Object(value) as object)
    .map(([id, limit]) => within(`.${id}`, keyLimit(limit)))
    .find((wrong) => wrong !== undefined);

const terms = part({
  plan: text,
  downloads_limit: count,
  metadata_limit: count,
  overage_cents: nullable(count),
  rate_version: text,
  fee_cents: count,
  hourly_limit: count,
  max_keys: optional(count),
  warning_percents: anything,
  service_failures_returned: optional(flag),
  overage_cap_cents: optional(nullable(count)),
  suspended: optional(flag),
  key_limits: optional(byKey),
});

const span = { period_start: instant, period_end: instant };
const nextPeriod = part({ ...span, terms });
const idempotency = part({ key_hash: text, fingerprint: text });
const promised = optional(part({ process: text, at: instant }));
/** A download that was charged, or a change of its charge. */
/** The key whose limit counts it. */
const ofKey = { limited_key_id: optional(text) };
const charged = { token: text, ordinal: count, ...ofKey };
const changed = { token: text, charge_event_id: text, ...ofKey };
const video = { platform: text, video_id: text };

/** By the kind of stream that they belong to. */
const schemas = {
  account: {
    AccountOpened: part({ account_id: text, terms, anchor_day: count, ...span, personal: anything }),
    ApiKeyIssued: part({ account_id: text, key_id: text, key_hash: text, key_prefix: text, personal: anything }),
    ApiKeyRevoked: part({ account_id: text, key_id: text }),
    PersonInvited: part({ account_id: text, person_id: text, personal: anything }),
    PersonRemoved: part({ account_id: text, person_id: text }),
    PersonSignedIn: part({ account_id: text, person_id: text, personal: anything }),
    ClosingRequested: part({ account_id: text }),
    AccountClosed: part({ account_id: text }),
    AccountErased: part({ account_id: text, documents_until: nullable(instant) }),
    BillingDetailsChanged: part({ account_id: text, personal: anything }),
  },
  usage: {
    UsagePeriodOpened: part({
      account_id: text,
      anchor_day: count,
      ...span,
      previous_period_start: nullable(instant),
      terms,
    }),
    PlanChanged: part({ effective: text, terms, fee_difference_cents: count, chosen_by_owner: optional(flag) }),
    OverageCapSet: part({ effective: text, overage_cap_cents: count }),
    OverageCapRemoved: part({ effective: text }),
    KeyLimitSet: part({ key_id: text, limit: keyLimit }),
    KeyLimitRemoved: part({ key_id: text }),
    AccountSuspended: part({ account_id: text }),
    SuspensionLifted: part({ plan: text, fee_difference_cents: count }),
    DownloadCreditDebited: part(charged),
    OverageCharged: part({ ...charged, cents: count, rate_cents: count, rate_version: text }),
    DownloadQueued: part({
      token: text,
      ...video,
      url: text,
      format: text,
      quality: text,
      audio_format: text,
      item: count,
      overage: anything,
      idempotency: nullable(idempotency),
    }),
    DownloadConfirmed: part({ token: text }),
    DownloadVoided: part({ ...changed, credits: count, overage_downloads: count, cents: count, promised }),
    MetadataCreditDebited: part({
      lookup_id: text,
      ordinal: count,
      ...video,
      download_refusal: optional(nullable(text)),
    }),
    MetadataCreditVoided: part({ lookup_id: text, charge_event_id: text, promised }),
    UsageWarningReached: part({ pool: text, threshold_percent: count, ...ofKey, used: count, limit: count }),
    UsageWarningMailed: part({
      warning_event_id: text,
      pool: text,
      threshold_percent: count,
      ...ofKey,
      message_id: text,
    }),
    OverageCapReached: part({ overage_cents: count, overage_cap_cents: count }),
    OverageCapMailed: part({ cap_event_id: text, message_id: text }),
    DownloadCreditReturned: part(changed),
    ChargeWaived: part({ reference: text, ...changed, cents: count, overage_downloads: count }),
    UsagePeriodEnded: part({ ...span, next: nullable(nextPeriod) }),
    UsagePeriodClosed: part({
      ...span,
      downloads: count,
      download_credits: count,
      overage_downloads: count,
      overage_cents: count,
      metadata_credits: count,
      fee_difference_cents: count,
    }),
  },
  job: {
    JobClaimed: part({
      token: text,
      account_id: text,
      worker_id: text,
      attempt: count,
      usage_stream: text,
      usage_revision: count,
    }),
    JobStarted: part({ token: text, worker_id: text }),
    JobReleased: part({
      token: text,
      reason: text,
      not_before: instant,
      detail: optional(text),
      tried: optional(anything),
    }),
    JobCompleted: part({
      token: text,
      claim_revision: count,
      file_name: text,
      file_mime: text,
      file_size_bytes: count,
      file_sha256: text,
      duration_seconds: anything,
      title: optional(text),
      detail: optional(text),
    }),
    JobFailed: part({
      token: text,
      reason: text,
      fault: optional(text),
      title: optional(text),
      detail: optional(text),
    }),
    FileExpired: part({ token: text, claim_revision: count }),
  },
  invoices: {
    InvoiceIssued: part({
      number: count,
      account_id: text,
      covers: text,
      ...span,
      currency: text,
      lines: anything,
      total_cents: count,
      mail_to: optional(ids),
    }),
    CreditNoteIssued: part({
      number: count,
      account_id: text,
      reference: text,
      invoice_number: count,
      line: count,
      charges: listOf(part({ ...changed, cents: count })),
      currency: text,
      cents: count,
      mail_to: optional(ids),
    }),
    DocumentMailAsked: part({ account_id: text, document_event_id: text, document_revision: count, mail_to: ids }),
    DocumentMailed: part({ account_id: text, document_event_id: text, person_id: text, message_id: nullable(text) }),
  },
  issuer: {
    IssuerDetailsChanged: part({
      name: text,
      address_lines: anything,
      country: nullable(text),
      tax_id: nullable(text),
      email: nullable(text),
    }),
  },
  staff: {
    StaffInvited: part({ staff_id: text, role: text, personal: anything }),
    StaffRoleChanged: part({ staff_id: text, role: text }),
    StaffRemoved: part({ staff_id: text }),
    StaffSignedIn: part({ staff_id: text, by: text, role: text, personal: anything }),
    StaffTokenIssued: part({
      staff_id: text,
      token_id: text,
      token_hash: text,
      token_prefix: text,
      scopes: ids,
      expires_at: instant,
      personal: anything,
    }),
    StaffTokenRevoked: part({ staff_id: text, token_id: text }),
    PersonalDataViewed: part({
      staff_id: text,
      account_id: nullable(text),
      token: nullable(text),
      page: text,
      by_token: optional(text),
    }),
  },
  corrections: {
    CorrectionAsked: part({
      correction_id: text,
      account_id: text,
      reference: text,
      correction: anything,
      cents: count,
      limit_cents: count,
      needs_approval: flag,
    }),
    CorrectionApproved: part({ correction_id: text }),
    CorrectionRefused: part({ correction_id: text }),
    CorrectionMade: part({ correction_id: text, cents: count }),
    CorrectionFailed: part({ correction_id: text, why: text }),
  },
  'tree-heads': {
    TreeHeadSigned: part({ origin: text, size: count, root: text, note: text, key: text, frontier: listOf(text) }),
    TreeOriginBegun: part({ origin: text }),
  },
  acknowledgements: {
    DivergenceAcknowledged: part({
      rule: text,
      account_id: nullable(text),
      stream: text,
      revision: anything,
      field: text,
      expected: anything,
      found: anything,
      reference: text,
    }),
  },
} satisfies Record<StreamName['kind'], Record<string, Schema<object>>>;

/** An event of another kind of stream is as unknown as one that there is not. */
function schemaOf({ stream, type }: RecordedEvent): Schema<object> | undefined {
  const name = parseStreamName(stream);
  const ofKind: Readonly<Record<string, Schema<object>>> = name ? schemas[name.kind] : {};
  return Object.hasOwn(ofKind, type) ? ofKind[type] : undefined;
}

/** The fields of several events together, each with every type that it has in one of them. */
type Together<Data> = { [Name in NamesIn<Data>]: Data extends Record<Name, infer Value> ? Value : never };
type NamesIn<Data> = Data extends unknown ? keyof Data : never;

export type Terms = ValueOf<typeof terms>;

/** Events whose fields no rule reads. */
type NeverRead = 'DivergenceAcknowledged' | 'PersonalDataViewed';

type Read<OfKind> = OfKind extends unknown ? ValueOf<OfKind[Exclude<keyof OfKind, NeverRead>]> : never;

/**
 * A link of a hash chain: an event with the fields of all types together. Which of them it has is checked before any of them
 * is read.
 */
export interface Link extends RecordedEvent {
  data: Together<Read<(typeof schemas)[keyof typeof schemas]>>;
  metadata: ValueOf<typeof metadata>;
}

/** @returns the first field of the event that is missing, wrong or, if there is no such field, unknown */
export function findWrongField(event: RecordedEvent): WrongField | undefined {
  const inMetadata = within('metadata', metadata(event.metadata));
  const schema = schemaOf(event);
  const inData = within('data', schema ? schema(event.data) : { path: '', isSurplus: false });
  return [inMetadata, inData].find((wrong) => wrong?.isSurplus === false) ?? inMetadata ?? inData;
}

function within(name: string, wrong: WrongField | undefined): WrongField | undefined {
  return wrong && { path: `${name}${wrong.path}`, isSurplus: wrong.isSurplus };
}

/** Fills in the fields that older events lack. */
export function withDefaults(event: Link): Link {
  const { type, data } = event;
  if (type === 'JobFailed') return data.fault === undefined ? { ...event, data: { ...data, fault: 'video' } } : event;
  if (type === 'UsagePeriodEnded' && data.next) {
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
