import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import type { Queryable } from '../runner/rows.ts';

/** The charges of one billing period whose downloads an outage has failed. */
export interface PlatformOutagePeriod {
  account_id: string;
  /** Usage stream of the period. */
  stream: string;
  is_closed: boolean;
  /** All of them, in the order of the stream, also those of which nothing is left. `revision` is that of the charge. */
  charges: { token: string; revision: number }[];
  /** How many have something left to give back, and how much in all, as far as the read model has it. */
  left: number;
  cents: number;
}

export interface PlatformOutageFilter {
  platform: string;
  /** Undefined: any. */
  reason?: FailureReason | undefined;
  /** When the downloads failed; UTC ISO-8601, the end exclusive. */
  from: string;
  to: string;
}

/** Failed downloads that were charged beyond the allowance, by account and period, those with the largest sum first. */
export async function listPlatformOutage(
  client: Queryable,
  { platform, reason, from, to }: PlatformOutageFilter,
  { maxCharges }: { maxCharges: number },
): Promise<{ periods: PlatformOutagePeriod[]; isMore: boolean }> {
  const { rows } = await client.query<Omit<PlatformOutagePeriod, 'is_closed'> & { phase: string | null }>(
    `with f as materialized (
       select j.token, j.account_id, j.usage_stream as stream, j.usage_revision - 1 as revision,
              (select sum(t.cents) from job_timeline t where t.token = j.token) as cents
       from jobs j
       where j.status = 'failed' and j.overage and j.finished_at >= $1 and j.finished_at < $2
         and j.platform = $3 and j.failure_reason <> 'voided' and ($4::text is null or j.failure_reason = $4)
       order by j.finished_at limit $5
     ), credited as materialized (
       select c->>'token' as token, sum((c->>'cents')::int) as cents
       from invoices i, json_array_elements(i.data->'charges') c
       where i.type = 'CreditNoteIssued' and i.account_id in (select account_id from f)
       group by 1
     ), failed as (
       select f.token, f.account_id, f.stream, f.revision, f.cents - coalesce(c.cents, 0) as cents
       from f left join credited c on c.token = f.token
     )
     select f.account_id, f.stream, c.phase, (count(*) filter (where f.cents > 0))::int as left,
            coalesce(sum(f.cents), 0)::float8 as cents,
            json_agg(json_build_object('token', f.token, 'revision', f.revision) order by f.revision) as charges
     from failed f left join credits c on c.stream = f.stream
     group by f.account_id, f.stream, c.phase
     order by cents desc, f.stream`,
    [from, to, platform, reason ?? null, maxCharges + 1],
  );
  const found = rows.reduce((sum, { charges }) => sum + charges.length, 0);
  return {
    periods: rows.map(({ phase, ...row }) => ({ ...row, is_closed: phase === 'closed' })),
    isMore: found > maxCharges,
  };
}
