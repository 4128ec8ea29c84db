import type { Link } from '../rules/event-schemas.ts';

/** What the rows of Postgres must say, column by column: a field of what a row stands for, under its own or another name. */
export const columns = {
  account_heads: 'account_id=opened.data.account_id revision last_hash=lastHash',
  api_keys: `key_id=issued.data.key_id account_id=issued.data.account_id key_hash=issued.data.key_hash
    key_prefix=issued.data.key_prefix label=issued.data.personal.label created_at=issued.metadata.time
    revoked_at=revokedAt`,
  api_key_window: `hash key_id=key.issued.data.key_id account_id=key.issued.data.account_id
    hourly_limit=key.account.hourlyLimit revoked`,
  hourly_limits: 'account_id=opened.data.account_id hourly_limit=hourlyLimit',
  credits: `stream=period.stream revision=period.revision last_hash=period.lastHash last_time=period.time
    phase=period.phase terms=period.terms plan=period.terms.plan cap_reached=period.capReached
    account_id=period.opened.data.account_id anchor_day=period.opened.data.anchor_day
    period_start=period.opened.data.period_start period_end=period.opened.data.period_end
    downloads=period.accepted.downloads lookups=period.accepted.metadata download_credits=period.credits.downloads
    overage_downloads=period.totals.overage_downloads overage_cents=period.totals.overage_cents
    metadata_credits=period.credits.metadata fee_difference_cents=period.totals.fee_difference_cents
    plan_changes=period.planChanges fee_cents=feeCents due warned next opening_invoice_due=openingDue
    period_invoice_due=periodDue`,
  jobs: `token=queued.data.token account_id=accountId usage_stream=queued.stream usage_revision=queued.revision
    platform=queued.data.platform video_id=queued.data.video_id url=queued.data.url format=queued.data.format
    quality=queued.data.quality overage=queued.data.overage queued_at=queued.metadata.time status revision
    last_hash=lastHash attempts worker_id=claim.data.worker_id claim_revision=claim.revision claimed_at=claimedAt
    not_before=notBefore waiting_since=waitingSince started_at=startedAt finished_at=end.metadata.time
    failure_reason=end.data.reason file_claim_revision=end.data.claim_revision file_name=end.data.file_name
    file_mime=end.data.file_mime file_size_bytes=end.data.file_size_bytes
    file_expired_at=expired.metadata.time`,
  job_timeline: `token=event.data.token position=event.position type=event.type stream=event.stream
    revision=event.revision event_id=event.id time=event.metadata.time actor=event.metadata.actor cents=taken
    data=event.data`,
  overage_ledger: `event_id=id account_id=accountId period_start=periodStart type token=data.token
    lookup_id=data.lookup_id ordinal=data.ordinal stream revision position time=metadata.time cents=taken
    rate_cents=data.rate_cents rate_version=data.rate_version request_id=metadata.$correlationId
    actor=metadata.actor corrects=data.charge_event_id reference=data.reference`,
  idempotency_keys: `account_id=period.account_id key_hash=charge.key.key_hash fingerprint=charge.key.fingerprint
    token=event.data.token overage=isOverage stream=event.stream revision=queuedAt confirmed=charge.confirmed
    voided=charge.voided`,
  invoices: `event_id=id account_id=data.account_id type number=data.number revision last_hash=metadata.hash position
    time=metadata.time covers=data.covers period_start=data.period_start total_cents=total data actor=metadata.actor`,
  usage_warnings: `event_id=id account_id=accountId type stream revision pool=data.pool
    threshold_percent=data.threshold_percent used=data.used credit_limit=data.limit time=metadata.time
    message_id=messageId`,
} as const;

/** Events of the ledger, each of which takes something or gives it back. */
const ofLedger = [
  ...['DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited', 'DownloadVoided', 'MetadataCreditVoided'],
  ...['ChargeWaived', 'DownloadCreditReturned'],
];

/** The cents that an event takes: 0 for a credit, negative where it gives back; undefined for an event outside the ledger. */
export function centsTaken({ type, data }: Link): number | undefined {
  if (!ofLedger.includes(type)) return undefined;
  const { cents = 0, charge_event_id } = data as Partial<Link['data']>;
  return charge_event_id === undefined ? cents : 0 - cents;
}
