import type { Pool } from 'pg';
import { withDeadline } from '../../async/deadline.ts';
import type { RequestObserver } from '../../ports/observers.ts';
import type { ServicePart } from '../../ports/service-parts.ts';

const defaultWriteEveryMs = 5_000;
/** A stop waits no longer for a server that does not answer. */
const lastWriteMs = 1_000;
/** Keys and days that this process holds while Postgres is away: at 200 bytes each, 20 MB. Requests of further keys are not counted. */
const maxCounts = 100_000;
/** Older days are removed. */
const keptDays = 400;

interface Count {
  accountId: string;
  keyId: string;
  /** UTC, YYYY-MM-DD. */
  day: string;
  answered: number;
  limited: number;
}

/**
 * Counts the requests of API keys by day: table `key_requests`. A request costs an increment, and the counts are added every 5 s
 * in one statement. While Postgres is away they are kept, and added once it is back.
 *
 * A statistic: a process that is killed loses its last seconds, and a statement whose answer is lost may be added twice.
 */
export class KeyRequests {
  readonly #pool: Pool;
  readonly #now: () => string;
  readonly #part: ServicePart;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;
  #counts = new Map<string, Count>();

  /** @param options.now business time; throws while the clock is wrong: then no request is decided, nor counted */
  constructor(
    pool: Pool,
    { now, part, writeEveryMs = defaultWriteEveryMs }: { now: () => string; part: ServicePart; writeEveryMs?: number },
  ) {
    this.#pool = pool;
    this.#now = now;
    this.#part = part;
    // A start that fails ends although nobody closes this.
    this.#timer = setInterval(() => {
      this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    }, writeEveryMs).unref();
  }

  /** Never throws. */
  requestEnded({ key, errorCode }: Pick<Parameters<RequestObserver['requestEnded']>[0], 'key' | 'errorCode'>): void {
    if (key === undefined) return;
    let day: string;
    try {
      day = this.#now().slice(0, 10);
    } catch {
      return;
    }
    const isLimited = errorCode === 'rate_limited';
    this.#add({ ...key, day, answered: isLimited ? 0 : 1, limited: isLimited ? 1 : 0 });
  }

  /** Writes what is left, unless Postgres does not answer. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const written = async () => {
      await this.#writing;
      await this.#write();
    };
    await withDeadline(written(), lastWriteMs, () => undefined);
  }

  #add(more: Count): void {
    const name = `${more.day} ${more.keyId}`;
    const count = this.#counts.get(name);
    if (count) {
      count.answered += more.answered;
      count.limited += more.limited;
    } else if (this.#counts.size < maxCounts) this.#counts.set(name, more);
  }

  async #write(): Promise<void> {
    if (this.#counts.size === 0) return;
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    try {
      await this.#pool.query(addSql, [
        counts.map(({ accountId }) => accountId),
        counts.map(({ keyId }) => keyId),
        counts.map(({ day }) => day),
        counts.map(({ answered }) => answered),
        counts.map(({ limited }) => limited),
      ]);
      this.#part.works();
    } catch (error) {
      this.#part.failed('adding the requests of keys', error);
      for (const count of counts) this.#add(count);
    }
  }
}

/** In the order of the primary key, so that two processes never wait for each other's rows. */
const addSql = `
  with more as (
    select * from unnest($1::text[], $2::text[], $3::date[], $4::bigint[], $5::bigint[])
      as more (account_id, key_id, day, answered, limited)
  ), old as (
    delete from key_requests where day < (select max(day) from more) - ${String(keptDays)}
  )
  insert into key_requests as r (account_id, key_id, day, answered, limited)
  select * from more order by account_id, day, key_id
  on conflict (account_id, day, key_id) do update set
    answered = r.answered + excluded.answered, limited = r.limited + excluded.limited`;
