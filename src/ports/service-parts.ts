/** The part of a logger that service parts need. */
interface PartLogger {
  warn: (facts: object, text: string) => void;
  debug: (facts: object, text: string) => void;
}

/**
 * A part of the service (a server, a loop) that can be lost: one line is logged when it is lost and one when it is back, however many
 * retries fail in between. Each failure is logged at debug.
 *
 *     working ──failed──▶ lost ──works──▶ working
 */
export class ServicePart {
  readonly #name: string;
  readonly #logger: PartLogger | undefined;
  #lost: { sinceMs: number; failures: Map<string, number> } | undefined;

  constructor(name: string, logger: PartLogger | undefined) {
    this.#name = name;
    this.#logger = logger;
  }

  /** @param what the failed action, in words that are the same for each failure of its kind */
  failed(what: string, error: unknown, facts: object = {}): void {
    const said = { ...facts, part: this.#name, what, err: error };
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
    this.#logger?.warn({ part: this.#name, awaySeconds, failures: Object.fromEntries(failures) }, 'a part is back');
  }

  /** Number of failures since the part was lost; 0 while it works. */
  get failures(): number {
    return [...(this.#lost?.failures.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }
}

/**
 * The parts of the service that a process uses, by name. They outlive the code that reports on them: after a loop ends because
 * leadership is lost, the loop that replaces it reports the part as back.
 */
export class ServiceParts {
  readonly #logger: PartLogger | undefined;
  readonly #parts = new Map<string, ServicePart>();

  constructor(logger: PartLogger | undefined) {
    this.#logger = logger;
  }

  of(name: string): ServicePart {
    const known = this.#parts.get(name);
    if (known) return known;
    const part = new ServicePart(name, this.#logger);
    this.#parts.set(name, part);
    return part;
  }
}

/** The part of that name, shared with the rest of the process if `serviceParts` is given. */
export const servicePart = (
  { serviceParts, logger }: { serviceParts?: ServiceParts | undefined; logger: PartLogger },
  name: string,
): ServicePart => serviceParts?.of(name) ?? new ServicePart(name, logger);

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
