/** The part of a logger that outages need. */
interface OutageLogger {
  warn: (facts: object, text: string) => void;
  debug: (facts: object, text: string) => void;
}

/**
 * Logs the outages of one part (a server, a loop): one line when it is lost and one when it is back, however many retries fail in
 * between. Each failure is logged at debug.
 *
 *     working ──failed──▶ lost ──works──▶ working
 */
export class Outage {
  readonly #part: string;
  readonly #logger: OutageLogger | undefined;
  #lost: { sinceMs: number; failures: Map<string, number> } | undefined;

  constructor(part: string, logger: OutageLogger | undefined) {
    this.#part = part;
    this.#logger = logger;
  }

  /** @param what the failed action, in words that are the same for each failure of its kind */
  failed(what: string, error: unknown, facts: object = {}): void {
    const said = { ...facts, part: this.#part, what, err: error };
    if (this.#lost) {
      this.#logger?.debug(said, 'a part is still lost');
    } else {
      this.#lost = { sinceMs: performance.now(), failures: new Map() };
      this.#logger?.warn(said, 'a part is lost; until it is back, its failures are logged at debug');
    }
    this.#lost.failures.set(what, (this.#lost.failures.get(what) ?? 0) + 1);
  }

  works(): void {
    if (!this.#lost) return;
    const { sinceMs, failures } = this.#lost;
    this.#lost = undefined;
    const awaySeconds = Math.round((performance.now() - sinceMs) / 100) / 10;
    this.#logger?.warn({ part: this.#part, awaySeconds, failures: Object.fromEntries(failures) }, 'a part is back');
  }

  /** Number of failures since the part was lost; 0 while it works. */
  get failures(): number {
    return [...(this.#lost?.failures.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }
}

/**
 * The outages of a process, by part. They outlive the code that reports them: after a loop ends because leadership is lost, the
 * loop that replaces it reports the part as back.
 */
export class Outages {
  readonly #logger: OutageLogger | undefined;
  readonly #outages = new Map<string, Outage>();

  constructor(logger: OutageLogger | undefined) {
    this.#logger = logger;
  }

  of(part: string): Outage {
    const known = this.#outages.get(part);
    if (known) return known;
    const outage = new Outage(part, this.#logger);
    this.#outages.set(part, outage);
    return outage;
  }
}

/** The outage of a part, shared with the rest of the process if `outages` is given. */
export const outageOf = (
  { outages, logger }: { outages?: Outages | undefined; logger: OutageLogger },
  part: string,
): Outage => outages?.of(part) ?? new Outage(part, logger);

/** Postgres answers, and the service cannot work with it: it takes no changes, or a pooler before it is set otherwise. */
export class PostgresUnusable extends Error {
  override readonly name = 'PostgresUnusable';
}

/** Codes of the system for connections, and of SQL for a server that stops, drops one or takes no changes. Files have other codes. */
const awayCodes =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0\d|08\d\d\d|25006)$/;

/** Tells whether Postgres cannot be reached or used, or has not answered a statement. */
export function isPostgresAway(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isAway = error instanceof PostgresUnusable || (typeof code === 'string' && awayCodes.test(code));
  return isAway || /^(?:Query read timeout|Connection terminated|timeout exceeded)/.test(String(message));
}

/** Tells whether Postgres gave up a statement for a lock: one that was not available in time, or a deadlock. */
export const isLockFailure = (error: unknown): boolean =>
  ['55P03', '40P01'].includes(String((error as { code?: unknown }).code));
