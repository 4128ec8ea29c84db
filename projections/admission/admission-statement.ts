import { LRUCache } from 'lru-cache';
import pg, { type FieldDef, type Pool } from 'pg';
import type { KeyedDownload } from '../../src/domain/decide-usage.ts';
import type { UsageSnapshot } from '../../src/domain/usage-state.ts';
import type { MeasureTime } from '../../src/ports/clock.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { keyText } from '../api-keys.ts';
import { creditsColumnIndex, creditsColumns, type CreditsRow, signedUsageOf } from '../credits.ts';
import { CreditsMacs, type NotBelieved } from '../credits-macs.ts';
import { keyedDownloadColumns, keyedDownloadFromText } from '../idempotency-keys.ts';
import { type PolledJob, polledJobColumns, polledJobFromText } from '../jobs.ts';
import { coveredEventFromText, coveredEventSql } from '../runner/checkpoints.ts';
import { anyRefusedSql } from '../runner/refused-readers.ts';
import { asText, rowTypes } from '../runner/rows.ts';
import { usageAndJobs } from '../usage-and-jobs.ts';

/** The statement behind `admission.ts`, and the reading of its rows. */

export const windowMs = 3_600_000;
/** The most accounts, and the most keys, whose rows are remembered. */
const maxRemembered = 50_000;
/** In no text of Postgres. Joined by it, NULL looks like an empty text: only a MAC may be either, and neither verifies. */
const separator = '\0';
/**
 * Distance from the base at which instants are rebased: well before they would leave the range of int4. The present is that far
 * before the base if Postgres's clock was ahead for a time, and no instant of then is left.
 */
const rebaseAfterMs = 1_000_000_000;

/**
 * The number of instants that have left the window. Postgres's clock may be further from the base than int4 holds.
 *
 * @param nowMs SQL of the present, in milliseconds after the base
 * @param instants SQL of the instants, in ascending order
 */
export const goneSql = (nowMs: string, instants: string): string =>
  `width_bucket(greatest(least(${nowMs} - ${String(windowMs)} - 1, 2000000000), -2000000000)::int4, ${instants})`;

/** The columns of a row that are the key's own. */
const ownColumns = [
  'g.hash',
  'g.key_id',
  'g.account_id',
  'g.mac',
  'g.hourly_limit',
  'g.kept',
  'g.granted',
  'extract(epoch from g.base) * 1000 as base_ms',
  'case when g.kept > 0 then g.at[g.gone + 1] else g.now_ms end as oldest',
  'g.now_ms',
  'g.clock_ms',
  anyRefusedSql,
  coveredEventSql(usageAndJobs.name),
];
const jobColumns = polledJobColumns('j');
const creditsCount = creditsColumns('c').split(',').length;
const keyedColumns = keyedDownloadColumns('k');
const nulls = (count: number) => Array.from({ length: count }, () => 'null').join(', ');

/** @param further columns of the parts that may follow */
const admissionSql = (further = '') => `
with locked as materialized (
  select k.hash, k.key_id, k.account_id, k.mac, k.hourly_limit, k.base, k.admitted_ms as at, asked.requests, asked.token
  from unnest($1::uuid[], $2::int[], $3::text[]) asked (hash, requests, token)
  join api_key_window k on k.hash = asked.hash
  where not k.revoked
  order by k.hash
  for update of k
), read as materialized (
  -- The clock is read after the lock.
  select *, (extract(epoch from clock_timestamp() - base) * 1000)::bigint as clock_ms from locked
), timed as materialized (
  -- For a key it never goes backwards.
  select *, greatest(clock_ms, at[cardinality(at)]) as now_ms from read
), counted as materialized (
  select *, ${goneSql('now_ms', 'at')} as gone from timed
), granted as materialized (
  select *, cardinality(at) - gone as kept, least(requests, greatest(hourly_limit - cardinality(at) + gone, 0)) as granted
  from counted
), admitted as (
  update api_key_window k set
    base = case when abs(g.now_ms) > ${String(rebaseAfterMs)} then g.base + g.now_ms * interval '1 millisecond' else g.base end,
    admitted_ms = case when abs(g.now_ms) > ${String(rebaseAfterMs)}
      then array(select (instant - g.now_ms)::int4 from unnest(g.at[g.gone + 1:]) instant order by instant)
           || array_fill(0, array[g.granted])
      else g.at[g.gone + 1:] || array_fill(g.now_ms::int4, array[g.granted]) end
  from granted g where g.granted > 0 and k.hash = g.hash
)
select ${ownColumns.join(', ')},
  ${jobColumns.join(', ')}, ${creditsColumns('c')}${further}
from granted g
left join lateral (
  select * from credits where account_id = g.account_id order by period_start desc limit 1
) c on true
left join jobs j on j.token = g.token`;

/** Rows for further tokens of a key with several polls in one tick, from the same snapshot. */
const furtherJobsSql = (further = '') => `
union all
select ${nulls(ownColumns.length)}, ${jobColumns.join(', ')}, ${nulls(creditsCount)}${further}
from jobs j where j.token = any($4)`;

/**
 * Idempotency keys are read from the same snapshot as the credits row. If they were read earlier, a download that was queued
 * between the two would be missed: no row was found for its key, and the revision of the credits row says that all rows are there.
 */
const keyedSql = `
union all
select ${nulls(ownColumns.length + jobColumns.length + creditsCount)}, ${keyedColumns.join(', ')}
from granted g
join unnest($5::uuid[], $6::text[]) asked (hash, key_hash) on asked.hash = g.hash
join idempotency_keys k on k.account_id = g.account_id and k.key_hash = asked.key_hash`;

/**
 * Takes one instant out of a key's window. A base only moves by whole milliseconds, so the instant is found again with any later
 * base. Several requests of the same instant are interchangeable. An instant that is missing has left the window, and nothing
 * changes.
 */
const giveBackSql = `
with placed as materialized (
  select hash, array_position(admitted_ms, ($3 + $2::numeric - extract(epoch from base) * 1000)::int4) as at
  from api_key_window where hash = $1 for update
)
update api_key_window k set admitted_ms = admitted_ms[:at - 1] || admitted_ms[at + 1:]
from placed where k.hash = placed.hash and at is not null`;

const noKeyed = `, ${nulls(keyedColumns.length)}`;
/** Each has a name, under which a session plans it once. The first is the one of nearly all requests. */
const statements = {
  plain: { name: 'admission', text: admissionSql() },
  further: { name: 'admission-further', text: admissionSql() + furtherJobsSql() },
  keyed: { name: 'admission-keyed', text: admissionSql(noKeyed) + keyedSql + furtherJobsSql(noKeyed) },
};

/**
 * A row as Postgres writes it, in the order of the select list: the key's own columns, the job's, the credits'. The rows of a key
 * and of an account are mostly what they were, and their texts are turned into values only where they are not.
 */
type TextRow = (string | null)[];
const jsonb: number = pg.types.builtins.JSONB;
const parserOf = rowTypes.getTypeParser as (dataTypeId: number) => (text: string) => unknown;
const creditsFrom = ownColumns.length + jobColumns.length;
const keyedFrom = creditsFrom + creditsCount;
const baseAt = ownColumns.findIndex((column) => column.endsWith(' as base_ms'));
const clockAt = ownColumns.indexOf('g.clock_ms');
const refusedAt = ownColumns.indexOf(anyRefusedSql);
const coveredAt = ownColumns.length - 1;
const streamAt = creditsFrom + creditsColumnIndex('stream');

/** The session settings that the statement's plan needs; a pool of its own has them. */
export const admissionSessionSettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** The place of a counted request: a key's window, and the instant in it. */
export interface AdmittedPlace {
  hash: string;
  /** The base of the window's instants in milliseconds since 1970: the exact text that Postgres writes. */
  baseMs: string;
  /** Milliseconds from the base. */
  instantMs: number;
}

/** The result of the statement for a key and its account. */
export interface AdmittedKey {
  keyId: string;
  accountId: string;
  /** True if the MAC of the key's row verifies. */
  isBelieved: boolean;
  /** True while a reader of the log is refused, so that no row of the answer can be relied on. */
  isReaderRefused: boolean;
  hourlyLimit: number;
  /** Requests in the window before this batch, and how many of the batch were let in. */
  kept: number;
  granted: number;
  /** When the oldest counted request was admitted, in milliseconds since 1970. */
  oldestMs: number;
  /** The place of the granted requests in the window. */
  place: AdmittedPlace;
  /** The newest credits row of the account; undefined before the projection has seen its first period. */
  usage: UsageSnapshot | NotBelieved | undefined;
}

/** An idempotency key belongs to its account. */
export const keyedName = (accountId: string, keyHash: string) => `${accountId} ${keyHash}`;

function queryOf(
  asked: readonly unknown[],
  further: readonly string[],
  keyed: readonly (readonly [hash: string, keyHash: string])[],
) {
  if (keyed.length > 0) {
    const hashes = keyed.map(([hash]) => hash);
    const keyHashes = keyed.map(([, keyHash]) => keyHash);
    return { ...statements.keyed, values: [...asked, further, hashes, keyHashes] };
  }
  if (further.length > 0) return { ...statements.further, values: [...asked, further] };
  return { ...statements.plain, values: [...asked] };
}

/** One statement for many keys at a time. */
export class AdmissionStatement {
  readonly #pool: Pool;
  /** Each account's credits row as it was last read, with its state. */
  readonly #lastUsage = new LRUCache<string, { text: string; usage: UsageSnapshot | NotBelieved }>({
    max: maxRemembered,
  });
  /** JSON values such as the terms of a plan by their text: many accounts have the same, which is kept and read once. */
  readonly #shared = new LRUCache<string, object>({ max: 1_000 });
  /** Each key's row as it last verified. */
  readonly #believedKeys = new LRUCache<string, Record<'keyId' | 'accountId' | 'mac', string>>({ max: maxRemembered });

  readonly #measureTime: MeasureTime;
  readonly #macs: RowMacs;
  readonly #credits: CreditsMacs;

  /** @param pool with `admissionSessionSettings` */
  constructor(pool: Pool, { measureTime, macs }: { measureTime: MeasureTime; macs: RowMacs }) {
    this.#pool = pool;
    this.#measureTime = measureTime;
    this.#macs = macs;
    this.#credits = new CreditsMacs(macs);
  }

  /**
   * @param asked distinct hashes in ascending order, each with its number of requests and its first requested job
   * @param further tokens of more jobs
   * @param keyed hashes of the requested idempotency keys, each with the hash of its API key
   * @returns the valid keys by hash, with the number of their admitted requests, the jobs by token, and the
   *   downloads of idempotency keys by `keyedName`
   */
  async ask(
    asked: readonly [hashes: readonly string[], requests: readonly number[], tokens: readonly (string | null)[]],
    further: readonly string[],
    keyed: readonly (readonly [hash: string, keyHash: string])[],
  ) {
    // The measurement includes a wait for a connection, which makes it less exact but not wrong.
    const told = this.#measureTime();
    const { rows, fields } = await this.#pool.query<TextRow>({
      ...queryOf(asked, further, keyed),
      rowMode: 'array',
      types: asText,
    });
    const jobs = new Map<string, PolledJob>();
    const keys = new Map<string, AdmittedKey>();
    const downloads = new Map<string, KeyedDownload | NotBelieved>();
    for (const row of rows) {
      const job = polledJobFromText(row.slice(ownColumns.length, creditsFrom));
      if (job) jobs.set(job.token, job);
      const [hash] = row;
      const found = keyed.length > 0 ? keyedDownloadFromText(row.slice(keyedFrom), this.#macs) : undefined;
      if (found) downloads.set(keyedName(found.accountId, found.keyHash), found.download);
      // Rows of a further job or a download have none.
      if (typeof hash !== 'string') continue;
      if (keys.size === 0) told(Number(row[baseAt]) + Number(row[clockAt]));
      keys.set(hash, this.#keyOf(hash, row, fields));
    }
    return { keys, jobs, downloads };
  }

  /** @returns whether the instant was in the window */
  async giveBack({ hash, baseMs, instantMs }: AdmittedPlace): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: 'give-back',
      text: giveBackSql,
      values: [hash, baseMs, instantMs],
    });
    return rowCount === 1;
  }

  /** Only the MAC and the last column may be null among the key's own columns. */
  #keyOf(hash: string, row: TextRow, fields: readonly FieldDef[]): AdmittedKey {
    const [, keyId = '', accountId = '', mac, hourlyLimit, kept, granted, baseMs, oldest, nowMs] = row as string[];
    const usage = this.#usageOf(row, accountId, fields);
    const coversUpTo = coveredEventFromText(row[coveredAt]);
    return {
      keyId,
      accountId,
      isBelieved: this.#isBelieved(hash, keyId, accountId, mac ?? null),
      isReaderRefused: row[refusedAt] === 't',
      hourlyLimit: Number(hourlyLimit),
      kept: Number(kept),
      granted: Number(granted),
      oldestMs: Number(baseMs) + Number(oldest),
      place: { hash, baseMs: baseMs ?? '', instantMs: Number(nowMs) },
      usage: typeof usage === 'object' ? { ...usage, coversUpTo } : usage,
    };
  }

  /** Checks an unchanged row of a key only once. */
  #isBelieved(hash: string, keyId: string, accountId: string, mac: string | null): boolean {
    const known = this.#believedKeys.get(hash);
    if (known?.keyId === keyId && known.accountId === accountId && known.mac === mac) return true;
    const text = keyText(hash, { keyId, accountId });
    const isBelieved = this.#macs.verifies({ table: 'api_key_window', name: keyId, text, mac });
    if (isBelieved && mac) this.#believedKeys.set(hash, { keyId, accountId, mac });
    return isBelieved;
  }

  /** Reads and checks an unchanged row of an account only once. */
  #usageOf(row: TextRow, accountId: string, fields: readonly FieldDef[]): UsageSnapshot | NotBelieved | undefined {
    const stream = row[streamAt] ?? null;
    if (stream === null) return undefined;
    const texts = row.slice(creditsFrom, keyedFrom);
    const text = texts.join(separator);
    const known = this.#lastUsage.get(stream);
    if (known?.text === text) return known.usage;
    const named = texts.map((value, index) => {
      const field = fields[creditsFrom + index];
      return [field?.name ?? '', value === null ? null : this.#valueOf(value, field?.dataTypeID ?? 0)] as const;
    });
    const credits = Object.fromEntries(named) as unknown as CreditsRow;
    const usage = this.#credits.believed(signedUsageOf(credits), accountId);
    this.#lastUsage.set(stream, { text, usage });
    return usage;
  }

  #valueOf(text: string, dataTypeId: number): unknown {
    if (dataTypeId !== jsonb) return parserOf(dataTypeId)(text);
    const known = this.#shared.get(text);
    if (known !== undefined) return known;
    const value = parserOf(dataTypeId)(text);
    if (typeof value === 'object' && value !== null) this.#shared.set(text, value);
    return value;
  }
}
