import { LRUCache } from 'lru-cache';
import pg from 'pg';
import type { FieldDef, Pool } from 'pg';
import type { UsageSnapshot } from '../src/domain/usage.ts';
import { creditsColumnIndex, creditsColumns, snapshotFromRow } from './credits.ts';
import type { CreditsRow } from './credits.ts';
import { polledJobColumns, polledJobFromText } from './jobs.ts';
import type { PolledJob } from './jobs.ts';

/**
 * The one round trip to Postgres of every authenticated request: is the key valid, does its rolling window have room, what
 * does the account's newest credits row say, and (for a status poll) the job's row. The requests of one tick share one
 * statement.
 *
 * A window holds the instants of the requests admitted in the past hour, in the key's own row. A request is admitted if
 * fewer than the limit were admitted in the hour before it, by Postgres's clock, read after the row is locked; so the limit
 * is exact over any number of processes, and requests that were refused are not counted.
 */
interface AdmissionRequest {
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
  job: PolledJob | undefined;
}

export interface Admissions {
  /** @returns undefined for a key that does not exist or is revoked. @throws when Postgres is away or too slow */
  admit(request: AdmissionRequest): Promise<Admission | undefined>;
}

const windowMs = 3_600_000;
/** When instants are rebased: well before they would leave the range of int4. */
const rebaseAfterMs = 1_000_000_000;

/** The columns of a row that are the key's own. */
const ownColumns = 7;
const jobColumns = polledJobColumns('j');
const nulls = (count: number) => Array.from({ length: count }, () => 'null').join(', ');

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
select g.hash, g.key_id, g.account_id, g.hourly_limit, g.kept, g.granted,
  extract(epoch from g.base) * 1000 + case when g.kept > 0 then g.at[g.gone + 1] else g.now_ms end as oldest_ms,
  ${jobColumns.join(', ')}, ${creditsColumns('c')}
from granted g
left join lateral (
  select * from credits where account_id = g.account_id order by period_start desc limit 1
) c on true
left join jobs j on j.token = g.token`;

/** Rows for more tokens of keys that ask for several in one tick: the same snapshot, so nothing falls between the two. */
const furtherJobsSql = `
union all
select ${nulls(ownColumns)}, ${jobColumns.join(', ')}, ${nulls(creditsColumns('c').split(',').length)}
from jobs j where j.token = any($4)`;

/**
 * A row as Postgres writes it, in the order of the select list: the key's own columns, the job's, the credits'. Most of a
 * row is what the last one of the same key was, so that its texts are turned into values only where that is new.
 */
type TextRow = (string | null)[];
const asText = { getTypeParser: () => (text: string) => text };
const parserOf = pg.types.getTypeParser as (dataTypeId: number) => (text: string) => unknown;

interface Pending {
  request: AdmissionRequest;
  arrivedMs: number;
  resolve: (admission: Admission | undefined) => void;
  reject: (error: unknown) => void;
}

/** The session settings that the statement's plan, and the reading of its texts, need; a pool of its own has them. */
export const admissionSessionSettings =
  '-c timezone=UTC -c datestyle=ISO -c plan_cache_mode=force_generic_plan -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off';

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
export function createAdmissions(pool: Pool): Admissions {
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
      void settleBatch(pool, batch).finally(() => {
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
async function settleBatch(pool: Pool, batch: readonly Pending[]): Promise<void> {
  try {
    await admitBatch(pool, batch);
  } catch (error) {
    const refused = error instanceof pg.DatabaseError;
    if (batch.length === 1 || !refused) for (const { reject } of batch) reject(error);
    else await Promise.all(batch.map((pending) => admitBatch(pool, [pending]).catch(pending.reject)));
  }
}

async function admitBatch(pool: Pool, batch: readonly Pending[]): Promise<void> {
  const byKey = Map.groupBy(batch, ({ request }) => uuidOf(request.keyHash));
  const hashes = [...byKey.keys()].sort();
  const groups = hashes.map((hash) => byKey.get(hash) ?? []);
  const tokens = groups.map((group) => group.flatMap(({ request }) => request.token ?? []));
  const further = [...new Set(tokens.flatMap((asked) => asked.slice(1)))];
  const values = [hashes, groups.map((group) => group.length), tokens.map((asked) => asked[0] ?? null)];
  const { rows, fields } = await pool.query<TextRow>({
    ...(further.length === 0
      ? { name: 'admission', text: admissionSql, values }
      : { name: 'admission-further', text: admissionSql + furtherJobsSql, values: [...values, further] }),
    rowMode: 'array',
    types: asText,
  });
  const jobs = new Map<string, PolledJob>();
  const answered = new Map<string | null, TextRow>();
  for (const row of rows) {
    const job = polledJobFromText(row.slice(ownColumns, ownColumns + jobColumns.length));
    if (job) jobs.set(job.token, job);
    // Rows that carry only a further job have no hash.
    answered.set(row[0] ?? null, row);
  }
  for (const [hash, group] of byKey) {
    const row = answered.get(hash);
    const key = row && { ...keyOf(row), usage: usageOf(row, fields) };
    group.forEach(({ request, resolve }, index) => {
      resolve(
        key && admissionOf(key, { index, job: request.token === undefined ? undefined : jobs.get(request.token) }),
      );
    });
  }
}

/** The state of each account's usage as it was last read; its hash names the state, down to the last event. */
const lastUsage = new LRUCache<string, UsageSnapshot>({ max: 10_000 });
const creditsFrom = ownColumns + jobColumns.length;
const streamAt = creditsFrom + creditsColumnIndex('stream');
const hashAt = creditsFrom + creditsColumnIndex('last_hash');

function usageOf(row: TextRow, fields: readonly FieldDef[]): UsageSnapshot | undefined {
  const stream = row[streamAt] ?? null;
  if (stream === null) return undefined;
  const known = lastUsage.get(stream);
  if (known?.lastHash === row[hashAt]) return known;
  const credits = fields.slice(creditsFrom).map(({ name, dataTypeID }, index) => {
    const text = row[creditsFrom + index] ?? null;
    return [name, text === null ? null : parserOf(dataTypeID)(text)] as const;
  });
  const usage = snapshotFromRow(Object.fromEntries(credits) as unknown as CreditsRow);
  lastUsage.set(stream, usage);
  return usage;
}

interface Key {
  keyId: string;
  accountId: string;
  hourlyLimit: number;
  /** Requests in the window before this batch, and how many of the batch were let in. */
  kept: number;
  granted: number;
  oldestMs: number;
}

function keyOf([, keyId, accountId, hourlyLimit, kept, granted, oldestMs]: TextRow): Key {
  return {
    keyId: keyId ?? '',
    accountId: accountId ?? '',
    hourlyLimit: Number(hourlyLimit),
    kept: Number(kept),
    granted: Number(granted),
    oldestMs: Number(oldestMs),
  };
}

/** The first `granted` requests of a key, in the order of their arrival, are admitted. */
function admissionOf(
  key: Key & { usage: UsageSnapshot | undefined },
  { index, job }: { index: number; job: PolledJob | undefined },
): Admission {
  const { keyId, accountId, hourlyLimit, kept, granted, oldestMs, usage } = key;
  const counted = kept + Math.min(index + 1, granted);
  return {
    outcome: index < granted ? 'admitted' : 'rate_limited',
    keyId,
    accountId,
    window: {
      limit: hourlyLimit,
      remaining: Math.max(hourlyLimit - counted, 0),
      resetAtSeconds: Math.ceil((Math.floor(oldestMs) + windowMs + 1) / 1000),
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
