import { EventStoreUnavailable } from './event-store.ts';

/** A server that the service works with, as `/readyz` calls it. */
export type Server = 'postgres' | 'event_store' | 'nats';

/** What people call each server, and what becomes of the service while it is away. */
export const servers: Readonly<Record<Server, { name: string; whileAway: string }>> = {
  postgres: {
    name: 'Postgres',
    whileAway: 'Requests are answered 503 and cost nothing; pages cannot be shown. Downloads that run go on.',
  },
  event_store: {
    name: 'EventStoreDB',
    whileAway: 'Nothing is queued, charged or finished. Polls and pages show what is known already.',
  },
  nats: { name: 'NATS', whileAway: 'Downloads are accepted, and wait until it is back. Those that run go on.' },
};

/** The part of a logger that service parts need. */
interface PartLogger {
  warn: (facts: object, text: string) => void;
  debug: (facts: object, text: string) => void;
}

const secondsSince = (sinceMs: number) => Math.round((performance.now() - sinceMs) / 100) / 10;

/** The servers that parts of this process miss: one line when one is away and one when it is back, however many parts need it. */
class AwayServers {
  readonly #logger: PartLogger | undefined;
  readonly #away = new Map<Server, { sinceMs: number; parts: Set<string> }>();

  constructor(logger: PartLogger | undefined) {
    this.#logger = logger;
  }

  missed(server: Server, { part, what, error }: { part: string; what: string; error: unknown }): void {
    const known = this.#away.get(server);
    if (known) {
      known.parts.add(part);
      return;
    }
    this.#away.set(server, { sinceMs: performance.now(), parts: new Set([part]) });
    const { name, whileAway } = servers[server];
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
    this.#logger?.warn(
      { server, part, what, reason: typeof code === 'string' ? code : message, whileAway },
      `${name} is away; until it is back, what fails for it is logged at debug`,
    );
  }

  /** A part that missed it works. */
  works(server: Server): void {
    const away = this.#away.get(server);
    if (!away) return;
    this.#away.delete(server);
    const awaySeconds = secondsSince(away.sinceMs);
    this.#logger?.warn({ server, awaySeconds, parts: [...away.parts] }, `${servers[server].name} is back`);
  }

  /** For how long each has been away. */
  seconds(): ReadonlyMap<Server, number> {
    return new Map([...this.#away].map(([server, { sinceMs }]) => [server, secondsSince(sinceMs)]));
  }
}

/** The server whose absence an error is about; undefined for any other failure. */
function serverOf(error: unknown): Server | undefined {
  if (error === undefined || error === null) return undefined;
  if (error instanceof EventStoreUnavailable) return 'event_store';
  if (isPostgresAway(error)) return 'postgres';
  return (error as { name?: unknown }).name === 'NatsError' ? 'nats' : undefined;
}

/**
 * A part of the service (a loop, a kind of requests) that can be lost: one line is logged when it is lost and one when it is back,
 * however many retries fail in between. Each failure is logged at debug. A part that is lost because a server is away has no lines
 * of its own: the server has them.
 *
 *     working ──failed──▶ lost ──works──▶ working
 */
export class ServicePart {
  readonly #name: string;
  readonly #logger: PartLogger | undefined;
  readonly #servers: AwayServers;
  #lost: { sinceMs: number; failures: Map<string, number>; server: Server | undefined } | undefined;

  constructor(name: string, logger: PartLogger | undefined, servers = new AwayServers(logger)) {
    this.#name = name;
    this.#logger = logger;
    this.#servers = servers;
  }

  /**
   * @param what the failed action, in words that are the same for each failure of its kind
   * @param given server: which is away, where the error does not tell; whatever else a line should say
   */
  failed(what: string, error: unknown, given: { server?: Server } | object = {}): void {
    const { server = serverOf(error), ...facts } = given as { server?: Server };
    const said = { ...facts, part: this.#name, what, err: error };
    if (this.#lost) this.#logger?.debug(said, 'a part is still lost');
    else this.#lose(said, server);
    const failures = this.#lost?.failures;
    failures?.set(what, (failures.get(what) ?? 0) + 1);
  }

  #lose(said: { what: string; err: unknown }, server: Server | undefined): void {
    this.#lost = { sinceMs: performance.now(), failures: new Map(), server };
    if (server === undefined) {
      this.#logger?.warn(said, 'a part is lost; until it is back, its failures are logged at debug');
      return;
    }
    this.#logger?.debug({ ...said, server }, 'a part is lost with its server');
    this.#servers.missed(server, { part: this.#name, what: said.what, error: said.err });
  }

  works(): void {
    if (!this.#lost) return;
    const { sinceMs, failures, server } = this.#lost;
    this.#lost = undefined;
    const said = { part: this.#name, awaySeconds: secondsSince(sinceMs), failures: Object.fromEntries(failures) };
    if (server === undefined) {
      this.#logger?.warn(said, 'a part is back');
      return;
    }
    this.#logger?.debug(said, 'a part is back with its server');
    this.#servers.works(server);
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
  readonly #servers: AwayServers;

  constructor(logger: PartLogger | undefined) {
    this.#logger = logger;
    this.#servers = new AwayServers(logger);
  }

  /** The servers that are away, as far as parts have noticed it, each with the seconds since then. */
  awaySeconds(): ReadonlyMap<Server, number> {
    return this.#servers.seconds();
  }

  of(name: string): ServicePart {
    const known = this.#parts.get(name);
    if (known) return known;
    const part = new ServicePart(name, this.#logger, this.#servers);
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
