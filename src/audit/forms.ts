/** What events may hold, written from docs/events.md: exactly these fields, and a name has one form wherever it stands. */

type Check = (value: unknown) => boolean;
type Form = Readonly<Record<string, Check>>;

const text =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const whole =
  (least: number, most = 1e12): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const oneOf =
  (...allowed: unknown[]): Check =>
  (value) =>
    allowed.includes(value);

/** @returns the first field that is unknown, missing or not in its form; an empty name for what has no fields at all */
export function wrongField(value: unknown, form: Form): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
  const fields = value as Record<string, unknown>;
  for (const name in fields) if (!Object.hasOwn(form, name)) return name;
  for (const name in form) if (form[name]?.(fields[name]) === false) return name;
  return undefined;
}

const [sha256, filled, count, positive] = [text(/^[0-9a-f]{64}$/), text(/^[^]+$/), whole(0), whole(1)];
const uuid = text(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const instant = text(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const named: Form = {
  ...{ id: uuid, lookup_id: uuid, charge_event_id: uuid, warning_event_id: uuid, reference: text(/^[!-~]{1,100}$/) },
  ...{ account_id: text(/^acc_[a-z0-9]{16,32}$/), key_id: text(/^key_[a-z0-9]{16,32}$/) },
  ...{ worker_id: text(/^wrk_[a-z0-9]{16,32}$/), token: text(/^[\w-]{20,64}$/), label: text(/^[^]*$/) },
  ...{ key_hash: sha256, fingerprint: sha256, file_sha256: sha256, hash: sha256, file_size_bytes: positive },
  ...{ time: instant, period_start: instant, period_end: instant, previous_period_start: instant, not_before: instant },
  ...{ anchor_day: whole(1, 31), threshold_percent: whole(1, 100), hourly_limit: whole(1, 10_000), schema: oneOf(1) },
  ...{ ordinal: positive, attempt: positive, number: positive, invoice_number: positive, line: positive },
  ...{ downloads: count, used: count, limit: count, cents: count, usage_revision: count, claim_revision: count },
  ...{ credits: oneOf(0, 1), total_cents: positive, currency: oneOf('USD'), overage: oneOf(true, false) },
  ...{
    effective: oneOf('now', 'next_period'),
    pool: oneOf('downloads', 'metadata'),
    covers: oneOf('opening', 'period'),
  },
  ...{ format: oneOf('video', 'audio'), duration_seconds: (value) => typeof value === 'number' && value >= 0 },
  ...{ warning_percents: (value) => Array.isArray(value) && value.every(whole(1, 100)), lines: Array.isArray },
  traceparent: text(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/),
  actor: (value) =>
    typeof value === 'object' &&
    wrongField(value, (value as { type?: unknown } | null)?.type === 'staff' ? staff : anybody) === undefined,
};

/** @param names `?` behind one: or null; `~`: or not there; `name:form` for a field with fields of its own */
function fields(names: string, nested: Readonly<Record<string, Form>> = {}): Form {
  const check = (word: string): [string, Check] => {
    const name = word.replace(/[?~]$/, '');
    const own = nested[name];
    const amount = /_(?:cents|limit|downloads|credits)$/.test(name) ? count : filled;
    const strict = own
      ? (value: unknown) => wrongField(value, own) === undefined
      : (named[name.replace('$', '')] ?? amount);
    const absent = word.endsWith('?') ? null : undefined;
    return [name, word === name ? strict : (value) => value === absent || strict(value)];
  };
  return Object.fromEntries(names.split(' ').map(check));
}

const anybody = { type: oneOf('api_key', 'system'), id: filled };
const staff = { type: oneOf('staff'), id: filled, role: filled, reason: filled };
const terms = fields(
  'plan downloads_limit metadata_limit overage_cents? rate_version fee_cents hourly_limit warning_percents',
);
const capped = { ...terms, ...fields('overage_cap_cents?') };
const period = 'period_start period_end';

export const metadataForm = fields('$correlationId $causationId $traceparent~ schema actor time hash');
export const isUuid = uuid;

/** By the kind of stream, then by the type of event. */
export const forms: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  account: {
    AccountOpened: fields(`account_id terms anchor_day ${period} personal`, { terms, personal: fields('email') }),
    ApiKeyIssued: fields('account_id key_id key_hash key_prefix personal', { personal: fields('label') }),
    ApiKeyRevoked: fields('account_id key_id'),
  },
  usage: {
    UsagePeriodOpened: fields(`account_id anchor_day ${period} previous_period_start? terms`, { terms: capped }),
    PlanChanged: fields('effective terms fee_difference_cents', { terms }),
    OverageCapSet: fields('effective overage_cap_cents'),
    OverageCapRemoved: fields('effective'),
    DownloadCreditDebited: fields('token ordinal'),
    OverageCharged: fields('token ordinal cents rate_cents rate_version'),
    DownloadQueued: fields('token platform video_id url format quality overage idempotency?', {
      idempotency: fields('key_hash fingerprint'),
    }),
    DownloadConfirmed: fields('token'),
    DownloadVoided: fields('token charge_event_id credits overage_downloads cents'),
    MetadataCreditDebited: fields('lookup_id ordinal platform video_id'),
    MetadataCreditVoided: fields('lookup_id charge_event_id'),
    UsageWarningReached: fields('pool threshold_percent used limit'),
    UsageWarningMailed: fields('warning_event_id pool threshold_percent message_id'),
    OverageCapReached: fields('overage_cents overage_cap_cents'),
    ChargeWaived: fields('reference token charge_event_id cents overage_downloads'),
    UsagePeriodEnded: fields(`${period} next`, { next: fields(`${period} terms`, { terms: capped }) }),
    UsagePeriodClosed: fields(
      `${period} downloads download_credits overage_downloads overage_cents metadata_credits fee_difference_cents`,
    ),
  },
  job: {
    JobClaimed: fields('token account_id worker_id attempt usage_stream usage_revision'),
    JobStarted: fields('token worker_id'),
    JobReleased: fields('token reason not_before'),
    JobCompleted: fields('token claim_revision file_name file_mime file_size_bytes file_sha256 duration_seconds'),
    JobFailed: fields('token reason'),
  },
  invoices: {
    // The lines are recomputed, and must be the same to the last field.
    InvoiceIssued: fields(`number account_id covers ${period} currency lines total_cents`),
    CreditNoteIssued: fields('number account_id reference invoice_number line charge_event_id? currency cents'),
  },
};
