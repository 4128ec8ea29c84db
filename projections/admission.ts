import { DatabaseError } from 'pg';
import type { Pool } from 'pg';
import type { AdmissionObserver } from '../src/commands/observers.ts';
import type { UsageSnapshot } from '../src/domain/usage.ts';
import { creditsColumns, snapshotFromRow } from './credits.ts';
import type { CreditsRow } from './credits.ts';
import { jobFromJson } from './jobs.ts';
import type { JobRow } from './jobs.ts';

/**
 * The one round trip to Postgres of every authenticated request: is the key valid, does its rolling window have room, what
 * does the account's newest credits row say, and (for a status poll) the job's row. The requests of one tick share one
 * statement.
 *
 * A window holds the instants of the requests admitted in the past hour, in the key's own row. A request is admitted if
 * fewer than the limit were admitted in the hour before it, by Postgres's clock, read after the row is locked; so the limit
 * is exact over any number of processes, and requests that were refused are not counted.
 */
export interface AdmissionRequest {
  /** SHA-256 of the raw key, hexadecimal. */
  keyHash: string;
  /** The job asked for, if any; only tokens that passed their own check come this far. */
  token?: string;
}

export interface RateWindow {
  limit: number;
  remaining: number;
  /** Unix seconds at which the oldest counted request leaves the window, rounded up. */
  resetAtSeconds: number;
}

export interface Admission {
  outcome: 'admitted' | 'rate_limited';
  keyId: string;
  accountId: string;
  window: RateWindow;
  /** The newest credits row of the account; undefined before the projection has seen its first period. */
  usage: UsageSnapshot | undefined;
  /** The row of the token asked for, whoever owns it. */
  job: JobRow | undefined;
}

export interface Admissions {
  /** @returns undefined for a key that does not exist or is revoked. @throws when Postgres is away or too slow */
  admit(request: AdmissionRequest): Promise<Admission | undefined>;
}

const windowMs = 3_600_000;
/** When instants are rebased: well before they would leave the range of int4. */
const rebaseAfterMs = 1_000_000_000;

const admissionSql = `
with locked as materialized (
  select k.hash, k.key_id, k.account_id, k.hourly_limit, k.base, k.admitted_ms as at, asked.requests, asked.token
  from unnest($1::uuid[], $2::int[], $3::text[]) asked (hash, requests, token)
  join api_key_window k on k.hash = asked.hash
  where not k.revoked
  order by k.hash
  for update of k
), timed as materialized (
  -- The clock is read after the lock, and never goes backwards for a key.
  select *, greatest((extract(epoch from clock_timestamp() - base) * 1000)::bigint, at[cardinality(at)]) as now_ms
  from locked
), counted as materialized (
  select *, width_bucket(least(now_ms - ${String(windowMs)} - 1, 2000000000)::int4, at) as gone from timed
), granted as materialized (
  select *, cardinality(at) - gone as kept, least(requests, greatest(hourly_limit - cardinality(at) + gone, 0)) as granted
  from counted
), admitted as (
  update api_key_window k set
    base = case when g.now_ms > ${String(rebaseAfterMs)} then g.base + g.now_ms * interval '1 millisecond' else g.base end,
    admitted_ms = case when g.now_ms > ${String(rebaseAfterMs)}
      then array(select (instant - g.now_ms)::int4 from unnest(g.at[g.gone + 1:]) instant order by instant)
           || array_fill(0, array[g.granted])
      else g.at[g.gone + 1:] || array_fill(g.now_ms::int4, array[g.granted]) end
  from granted g where g.granted > 0 and k.hash = g.hash
)
select g.hash, g.key_id, g.hourly_limit, g.kept, g.granted, g.account_id as key_account_id,
  extract(epoch from g.base) * 1000 + case when g.kept > 0 then g.at[g.gone + 1] else g.now_ms end as oldest_ms,
  ${creditsColumns('c')}, to_jsonb(j) as job
from granted g
left join lateral (
  select * from credits where account_id = g.account_id order by period_start desc limit 1
) c on true
left join jobs j on j.token = g.token`;

/** Rows for more tokens of keys that ask for several in one tick: the same snapshot, so nothing falls between the two. */
const furtherJobsSql = `
union all
select ${Array.from({ length: 7 + creditsColumns('c').split(',').length }, () => 'null').join(', ')}, to_jsonb(f)
from jobs f where f.token = any($4)`;

interface KeyRow extends Partial<CreditsRow> {
  /** Null in the rows that carry only a further job. */
  hash: string | null;
  key_id: string;
  key_account_id: string;
  hourly_limit: number;
  kept: number;
  granted: number;
  oldest_ms: string;
  job: JobRow | null;
}

interface Pending {
  request: AdmissionRequest;
  arrivedMs: number;
  resolve: (admission: Admission | undefined) => void;
  reject: (error: unknown) => void;
}

/** The session settings that the statement's plan needs; a pool of its own has them. */
export const admissionSessionSettings =
  '-c plan_cache_mode=force_generic_plan -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off';

/** Postgres was not asked, or not in time. */
class AdmissionTooLate extends Error {
  override readonly name = 'AdmissionTooLate';
}

/** A request has ten seconds in all; one that waited this long for its turn would come too late. */
const maxWaitMs = 4_000;
const maxPending = 20_000;
const maxBatchRequests = 512;
const maxBatchesUnderWay = 2;

/** @param pool with `admissionSessionSettings` */
export function createAdmissions(pool: Pool, observer?: AdmissionObserver): Admissions {
  const admit = async (batch: readonly Pending[]): Promise<void> => {
    const decided = await admitBatch(pool, batch);
    observer?.batchDecided(decided);
  };
  let pending: Pending[] = [];
  let underWay = 0;
  let scheduled = false;

  const flush = () => {
    scheduled = false;
    pending = refuseLate(pending);
    while (pending.length > 0 && underWay < maxBatchesUnderWay) {
      const batch = pending.slice(0, maxBatchRequests);
      pending = pending.slice(maxBatchRequests);
      underWay += 1;
      void settleBatch(admit, batch).finally(() => {
        underWay -= 1;
        flush();
      });
    }
  };

  return {
    admit: (request) => {
      const { promise, resolve, reject } = Promise.withResolvers<Admission | undefined>();
      if (pending.length >= maxPending) reject(new AdmissionTooLate('too many requests wait for Postgres'));
      else pending.push({ request, arrivedMs: performance.now(), resolve, reject });
      if (!scheduled) setImmediate(flush);
      scheduled = true;
      return promise;
    },
  };
}

function refuseLate(pending: readonly Pending[]): Pending[] {
  const sinceMs = performance.now() - maxWaitMs;
  return pending.filter(({ arrivedMs, reject }) => {
    if (arrivedMs >= sinceMs) return true;
    reject(new AdmissionTooLate('Postgres has not answered in time'));
    return false;
  });
}

/**
 * If Postgres refuses a batch, its requests are tried once more one by one: none fails for what another one carries. Where it
 * has not answered, nothing is tried again: the batch may have been counted.
 */
async function settleBatch(
  admit: (batch: readonly Pending[]) => Promise<void>,
  batch: readonly Pending[],
): Promise<void> {
  try {
    await admit(batch);
  } catch (error) {
    const refused = error instanceof DatabaseError;
    if (batch.length === 1 || !refused) for (const { reject } of batch) reject(error);
    else await Promise.all(batch.map((pending) => admit([pending]).catch(pending.reject)));
  }
}

/** @returns what was decided, in numbers */
async function admitBatch(
  pool: Pool,
  batch: readonly Pending[],
): Promise<Parameters<AdmissionObserver['batchDecided']>[0]> {
  const byKey = Map.groupBy(batch, ({ request }) => uuidOf(request.keyHash));
  const hashes = [...byKey.keys()].sort();
  const groups = hashes.map((hash) => byKey.get(hash) ?? []);
  const tokens = groups.map((group) => group.flatMap(({ request }) => request.token ?? []));
  const further = [...new Set(tokens.flatMap((asked) => asked.slice(1)))];
  const values = [hashes, groups.map((group) => group.length), tokens.map((asked) => asked[0] ?? null)];
  const { rows } = await pool.query<KeyRow>(
    further.length === 0
      ? { name: 'admission', text: admissionSql, values }
      : { name: 'admission-further', text: admissionSql + furtherJobsSql, values: [...values, further] },
  );
  const jobs = new Map<string, JobRow>();
  for (const { job } of rows) if (job) jobs.set(job.token, jobFromJson(job));
  const answered = new Map(rows.map((row) => [row.hash, row]));
  const decided = { admitted: 0, rateLimited: 0, unknownKeys: 0 };
  for (const [hash, group] of byKey) {
    const row = answered.get(hash);
    if (!row) decided.unknownKeys += group.length;
    else {
      decided.admitted += row.granted;
      decided.rateLimited += group.length - row.granted;
    }
    const usage = row && usageOf(row);
    group.forEach(({ request, resolve }, index) => {
      resolve(
        row &&
          admissionOf(row, { index, usage, job: request.token === undefined ? undefined : jobs.get(request.token) }),
      );
    });
  }
  return decided;
}

function usageOf(row: KeyRow): UsageSnapshot | undefined {
  return typeof row.stream === 'string' ? snapshotFromRow(row as unknown as CreditsRow) : undefined;
}

/** The first `granted` requests of a key, in the order of their arrival, are admitted. */
function admissionOf(
  row: KeyRow,
  { index, usage, job }: { index: number; usage: UsageSnapshot | undefined; job: JobRow | undefined },
): Admission {
  const admitted = index < row.granted;
  const counted = row.kept + Math.min(index + 1, row.granted);
  return {
    outcome: admitted ? 'admitted' : 'rate_limited',
    keyId: row.key_id,
    accountId: row.key_account_id,
    window: {
      limit: row.hourly_limit,
      remaining: Math.max(row.hourly_limit - counted, 0),
      resetAtSeconds: Math.ceil((Math.floor(Number(row.oldest_ms)) + windowMs + 1) / 1000),
    },
    usage,
    job,
  };
}

/** The first 128 bits of the hash, as Postgres writes a uuid. */
function uuidOf(keyHash: string): string {
  return [
    keyHash.slice(0, 8),
    keyHash.slice(8, 12),
    keyHash.slice(12, 16),
    keyHash.slice(16, 20),
    keyHash.slice(20, 32),
  ].join('-');
}
