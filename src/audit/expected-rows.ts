import type { Link } from './chain.ts';
import type { Job } from './job.ts';
import type { Period } from './period.ts';

/** What the tables of Postgres must hold, by what the log has come to. */

/** As table `credits` must have it. */
export function creditsRow(period: Period): object {
  const { stream, revision, phase, terms, capReached: cap_reached, counts, due, opened, ended } = period;
  const { account_id, anchor_day, period_start, period_end } = opened.data;
  const { downloads, credits: download_credits, overage: overage_downloads, cents: overage_cents, lookups } = counts;
  const { period_start: start, period_end: end, terms: coming } = (ended?.data.next ?? {}) as Partial<Link['data']>;
  return {
    ...{
      account_id,
      period_start,
      period_end,
      stream,
      revision,
      last_hash: period.hash,
      last_time: period.time,
      phase,
    },
    ...{
      anchor_day,
      plan: terms.plan,
      terms,
      downloads,
      download_credits,
      overage_downloads,
      overage_cents,
      lookups,
    },
    ...{ metadata_credits: counts.lookupCredits, fee_difference_cents: counts.feeDifference },
    fee_cents: opened.data.terms.fee_cents + counts.feeDifference,
    due: Object.keys(due).length === 0 ? null : due,
    ...{ warned: [...period.warned.keys()], cap_reached },
    next: ended ? { period: { start, end }, terms: coming } : null,
  };
}

/** As table `jobs` must have it. */
export function jobRow(job: Job): object {
  const { token, platform, video_id, url, format, quality, overage } = job.queued.data;
  const [, account_id] = job.queued.stream.split('-');
  const { file_name, file_mime, file_size_bytes, claim_revision, reason } = job.end?.data ?? {};
  return {
    ...{ token, account_id, usage_stream: job.queued.stream, usage_revision: job.queued.revision },
    ...{ platform, video_id, url, format, quality, overage, queued_at: job.queued.time, status: job.status },
    ...{ revision: job.revision, last_hash: job.revision < 0 ? null : job.hash, attempts: job.attempts },
    ...{ worker_id: job.claim?.data.worker_id, claim_revision: job.claim?.revision, failure_reason: reason },
    ...{ file_claim_revision: claim_revision, file_name, file_mime, file_size_bytes },
  };
}

/** As table `overage_ledger` must have it. */
export function ledgerRow(event: Link, account_id: string): object {
  const { type, data, stream, revision, position, time, id: event_id, request: request_id, actor } = event;
  const {
    token,
    lookup_id,
    ordinal,
    cents = 0,
    rate_cents,
    rate_version,
    charge_event_id: corrects,
    reference,
  } = data as Partial<Link['data']>;
  const day = stream.slice(-8);
  return {
    ...{
      event_id,
      account_id,
      period_start: `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T00:00:00.000Z`,
      type,
    },
    ...{
      token,
      lookup_id,
      ordinal,
      stream,
      revision,
      position: String(position),
      time,
      cents: corrects ? -cents : cents,
    },
    ...{ rate_cents, rate_version, request_id, actor, corrects, reference },
  };
}

/** As table `invoices` must have it. */
export function invoiceRow({
  type,
  data,
  id: event_id,
  revision,
  hash: last_hash,
  position,
  time,
  actor,
}: Link): object {
  const { account_id, number, cents, total_cents = cents, covers, period_start } = data as Partial<Link['data']>;
  return {
    account_id,
    type,
    number,
    event_id,
    revision,
    last_hash,
    position: String(position),
    time,
    covers,
    period_start,
    total_cents,
    data,
    actor,
  };
}
