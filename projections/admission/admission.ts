import pg, { type Pool } from 'pg';
import type { KeyedDownload } from '../../src/domain/decide-usage.ts';
import type { UsageSnapshot } from '../../src/domain/usage-state.ts';
import type { MeasureTime } from '../../src/ports/clock.ts';
import type { AdmissionObserver } from '../../src/ports/observers.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { uuidOfKeyHash } from '../api-keys.ts';
import type { NotBelieved } from '../credits-macs.ts';
import type { PolledJob } from '../jobs.ts';
import {
  AdmissionStatement,
  type AdmittedKey,
  type AdmittedPlace,
  keyedName,
  windowMs,
} from './admission-statement.ts';

interface AdmissionRequest {
  /** SHA-256 of the raw key, hexadecimal. */
  keyHash: string;
  /** Token of the requested job, if any; only tokens that passed their own check come this far. */
  token?: string | undefined;
  /** SHA-256 of the request's Idempotency-Key, hexadecimal. */
  idempotencyKeyHash?: string | undefined;
  /** Set if the request was counted before, or may never be: it takes no place, and is admitted if its key is valid. */
  takesNoPlace?: boolean;
}

export interface RateWindow {
  limit: number;
  remaining: number;
  /** Unix seconds at which the oldest counted request leaves the window, rounded up. */
  resetAtSeconds: number;
}

export interface Admission {
  /**
   * `not_believed`: this installation has not written the key's row, so the account of the key is not known. `reader_refused`: a
   * reader of the log does not go on, because the log was replaced.
   */
  outcome: 'admitted' | 'rate_limited' | 'not_believed' | 'reader_refused';
  keyId: string;
  accountId: string;
  window: RateWindow;
  /** Place of an admitted request in its window. */
  place: AdmittedPlace | undefined;
  /** The newest credits row of the account; undefined before the projection has seen its first period. */
  usage: UsageSnapshot | NotBelieved | undefined;
  /** The row of the requested token, of any account. */
  job: PolledJob | undefined;
  /** The account's newest download with the Idempotency-Key, as of the same point as `usage`. */
  keyed: KeyedDownload | NotBelieved | undefined;
}

/**
 * The one round trip to Postgres of every authenticated request. It checks the key and its rolling window, and reads the
 * account's newest credits row and (for a status poll) the job's row. Requests of the same tick, and those that arrive while two
 * statements are under way, share a statement.
 *
 * A window holds the instants of the requests admitted in the past hour, in the key's own row. A request is admitted if
 * fewer than the limit were admitted in the hour before it, by Postgres's clock, read after the row is locked. So the limit is
 * exact over any number of processes, and refused requests are not counted.
 */
export interface Admissions {
  /** @returns undefined for a key that does not exist or is revoked. @throws when Postgres is away or too slow */
  admit(request: AdmissionRequest): Promise<Admission | undefined>;
  /**
   * Stops counting an admitted request. Called once per request, because another request may be counted at the same instant.
   *
   * @returns whether it was counted until now. @throws when Postgres is away or too slow; then the result is not known
   */
  giveBack(place: AdmittedPlace): Promise<boolean>;
}

interface Pending {
  request: AdmissionRequest;
  arrivedMs: number;
  resolve: (admission: Admission | undefined) => void;
  reject: (error: unknown) => void;
}

/** Postgres did not answer in time, or the statement was not sent. */
class AdmissionTooLate extends Error {
  override readonly name = 'AdmissionTooLate';
}

/** A request has ten seconds in all: after waiting this long for its turn it would be too late. */
const maxWaitMs = 4_000;
const maxPending = 20_000;
const maxBatchRequests = 512;
const maxBatchesUnderWay = 2;

export interface AdmissionDependencies {
  /** Gets Postgres's time from each statement. */
  measureTime: MeasureTime;
  macs: RowMacs;
  observer?: AdmissionObserver;
}

/** @param pool with `admissionSessionSettings` */
export function createAdmissions(pool: Pool, { observer, ...dependencies }: AdmissionDependencies): Admissions {
  const statement = new AdmissionStatement(pool, dependencies);
  const admit = async (batch: readonly Pending[]): Promise<void> => {
    const decided = await admitBatch(statement, batch);
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
    giveBack: (place) => statement.giveBack(place),
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
 * If Postgres refuses a batch, its requests are retried one by one, so none fails because of another one's content. Without an
 * answer nothing is retried, because the batch may have been counted.
 */
async function settleBatch(
  admit: (batch: readonly Pending[]) => Promise<void>,
  batch: readonly Pending[],
): Promise<void> {
  try {
    await admit(batch);
  } catch (error) {
    const refused = error instanceof pg.DatabaseError;
    if (batch.length === 1 || !refused) for (const { reject } of batch) reject(error);
    else await Promise.all(batch.map((pending) => admit([pending]).catch(pending.reject)));
  }
}

/** @returns the numbers of admitted, refused and unknown requests */
async function admitBatch(
  statement: AdmissionStatement,
  batch: readonly Pending[],
): Promise<Parameters<AdmissionObserver['batchDecided']>[0]> {
  const byKey = Map.groupBy(batch, ({ request }) => uuidOfKeyHash(request.keyHash));
  const hashes = [...byKey.keys()].sort();
  const groups = hashes.map((hash) => byKey.get(hash) ?? []);
  const tokens = groups.map((group) => group.flatMap(({ request }) => request.token ?? []));
  const further = [...new Set(tokens.flatMap((asked) => asked.slice(1)))];
  const values = [hashes, groups.map(countNew), tokens.map((asked) => asked[0] ?? null)] as const;
  const keyed = [...byKey].flatMap(([hash, group]) =>
    group.flatMap(({ request: { idempotencyKeyHash: keyHash } }) =>
      keyHash === undefined ? [] : [[hash, keyHash] as const],
    ),
  );
  const { keys, jobs, downloads } = await statement.ask(values, further, keyed);
  const decided = { admitted: 0, rateLimited: 0, unknownKeys: 0 };
  for (const [hash, group] of byKey) {
    const key = keys.get(hash);
    const asking = countNew(group);
    if (!key) decided.unknownKeys += asking;
    else {
      decided.admitted += key.granted;
      decided.rateLimited += asking - key.granted;
    }
    let next = 0;
    for (const { request, resolve } of group) {
      const { token, idempotencyKeyHash } = request;
      const index = request.takesNoPlace ? undefined : next++;
      const job = token === undefined ? undefined : jobs.get(token);
      const download =
        idempotencyKeyHash === undefined
          ? undefined
          : downloads.get(keyedName(key?.accountId ?? '', idempotencyKeyHash));
      resolve(key && admissionOf(key, { index, job, keyed: download }));
    }
  }
  return decided;
}

function countNew(group: readonly Pending[]): number {
  let count = 0;
  for (const { request } of group) if (!request.takesNoPlace) count += 1;
  return count;
}

/**
 * The admission of one request: the first `granted` of a key, in order of arrival, are admitted.
 *
 * @param index of the request among those that need a place; undefined if it takes none
 */
function admissionOf(
  key: AdmittedKey,
  { index, job, keyed }: { index: number | undefined } & Pick<Admission, 'job' | 'keyed'>,
): Admission {
  const { keyId, accountId, hourlyLimit, kept, granted, oldestMs, place, usage } = key;
  const counted = kept + (index === undefined ? granted : Math.min(index + 1, granted));
  const hasPlace = index !== undefined && index < granted;
  return {
    outcome: outcomeOf(key, hasPlace || index === undefined),
    keyId,
    accountId,
    place: hasPlace ? place : undefined,
    window: {
      limit: hourlyLimit,
      remaining: Math.max(hourlyLimit - counted, 0),
      resetAtSeconds: Math.ceil((Math.floor(oldestMs) + windowMs + 1) / 1000),
    },
    usage,
    job,
    keyed,
  };
}

function outcomeOf({ isBelieved, isReaderRefused }: AdmittedKey, isWithinLimit: boolean): Admission['outcome'] {
  if (!isBelieved) return 'not_believed';
  if (isReaderRefused) return 'reader_refused';
  return isWithinLimit ? 'admitted' : 'rate_limited';
}
