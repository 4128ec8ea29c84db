import type { Row } from '../verify/expected.ts';
import type { Link } from '../verify/forms.ts';
import type { Account } from './account.ts';
import type { Chain } from './chain.ts';
import { linesOf } from './invoices.ts';
import type { Job } from './job.ts';
import type { Charge, Period } from './period.ts';

/** What Postgres must hold, by what the log has come to: columns that a table does not have are left out where they are compared. */

export function headRow(account: Account): Row {
  const { revision, hash: last_hash, opened } = account;
  const { account_id } = opened.data;
  return { table: 'account_heads', key: account_id, of: account, columns: { account_id, revision, last_hash } };
}

export function creditsRow(period: Period): Row {
  const { stream: key, revision, hash: last_hash, time: last_time, phase, lookups, totals, terms, due } = period;
  const fee_cents = period.opened.data.terms.fee_cents + totals.fee_difference_cents;
  const { period_start: start, period_end: end, terms: coming } = period.ended?.data.next ?? {};
  const columns = {
    ...{
      ...period.opened.data,
      ...totals,
      stream: key,
      revision,
      last_hash,
      last_time,
      phase,
      lookups,
      terms,
      fee_cents,
    },
    ...{ plan: terms.plan, cap_reached: period.capReached, warned: [...period.warned.keys()] },
    due: due.size === 0 ? null : { plan: due.get('plan'), ...due.get('cap') },
    next: coming ? { period: { start, end }, terms: coming } : null,
  };
  // An invoice still asks for the charges of a period that is closed.
  const isFinal = phase === 'closed' && (period.isInvoiced || linesOf(period).length === 0);
  return { table: 'credits', key, of: period, columns, isFinal };
}

export function jobRow(job: Job): Row {
  const { queued, status, revision, attempts, claim, end } = job;
  const { stream: usage_stream, revision: usage_revision, metadata, data } = queued;
  const account_id = usage_stream.split('-')[1];
  const { claim_revision: file_claim_revision, reason: failure_reason, ...file } = end?.data ?? {};
  const columns = {
    ...{
      ...data,
      ...file,
      account_id,
      usage_stream,
      usage_revision,
      queued_at: metadata.time,
      status,
      revision,
      attempts,
    },
    ...{ worker_id: claim?.data.worker_id, claim_revision: claim?.revision, file_claim_revision, failure_reason },
    last_hash: revision < 0 ? null : job.hash,
  };
  return { table: 'jobs', key: data.token, of: job, columns, isFinal: end !== undefined };
}

export function ledgerRow(event: Link, { opened }: Period): Row {
  const { id: event_id, type, stream, revision, position, data } = event;
  const { $correlationId: request_id, time, actor } = event.metadata;
  const { cents = 0, charge_event_id: corrects } = data as Partial<Link['data']>;
  const { account_id, period_start } = opened.data;
  const columns = {
    ...{
      ...data,
      event_id,
      account_id,
      period_start,
      type,
      stream,
      revision,
      position: String(position),
      time,
      request_id,
    },
    ...{ actor, corrects, cents: corrects === undefined ? cents : -cents },
  };
  return { table: 'overage_ledger', key: event_id, of: event, columns };
}

export function keyRow(event: Link, { key, rate, revision, confirmed, voided }: Charge): Row {
  const { stream, data } = event;
  const account_id = stream.split('-')[1] ?? '';
  const of = { account_id, ...key, token: data.token, stream, revision: revision + 1 };
  const columns = { ...of, overage: rate !== null, confirmed, voided };
  return { table: 'idempotency_keys', key: `${account_id} ${key?.key_hash ?? ''}`, of: event, columns };
}

export function invoiceRow(event: Link, { hash: last_hash }: Chain): Row {
  const { id: event_id, type, revision, position, data } = event;
  const { time, actor } = event.metadata;
  const { cents, total_cents = cents } = data as Partial<Link['data']>;
  const columns = {
    ...data,
    event_id,
    type,
    revision,
    last_hash,
    position: String(position),
    time,
    total_cents,
    data,
    actor,
  };
  return { table: 'invoices', key: event_id, of: event, columns };
}
