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
  readonly #away = new Map<Server, { sinceMs: number; parts: Set<string>; missing: Set<string> }>();

  constructor(logger: PartLogger | undefined) {
    this.#logger = logger;
  }

  missed(server: Server, part: string, said: { what: string; reason: unknown }): void {
    const known = this.#away.get(server);
    if (known) {
      known.parts.add(part);
      known.missing.add(part);
      return;
    }
    this.#away.set(server, { sinceMs: performance.now(), parts: new Set([part]), missing: new Set([part]) });
    const { name, whileAway } = servers[server];
    this.#logger?.warn(
      { server, part, ...said, whileAway },
      `${name} is away; until it is back, what fails for it is logged at debug`,
    );
  }

  /**
   * A part that missed a server works: maybe without it. It is back once all that missed it work.
   *
   * @param isConnected the part watches the connection to the server, and has one
   */
  works(server: Server, part: string, isConnected: boolean): void {
    const away = this.#away.get(server);
    if (!away?.missing.delete(part)) return;
    if (away.missing.size > 0 && !isConnected) return;
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
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'NatsError' && natsAwayCodes.has(String(code)) ? 'nats' : undefined;
}

/** Of the client's errors about its connection, and about answers that do not come. */
const natsAwayCodes = new Set(['CONNECTION_CLOSED', 'CONNECTION_REFUSED', 'DISCONNECT', 'TIMEOUT', '503']);

/** Why a server is away, in a word: the texts of errors name addresses. */
function reasonOf(error: unknown): unknown {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : name;
}

/** What a part has missed since it works no more. */
interface Lost {
  sinceMs: number;
  failures: Map<string, number>;
  /** The servers that it missed, each with whether the part watches the connection to it. */
  servers: Map<Server, boolean>;
  /** It was lost for a reason of its own, which has its own two lines. */
  isTold: boolean;
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
  #lost: Lost | undefined;

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
    const { server: watched, ...facts } = given as { server?: Server; reason?: unknown };
    const server = watched ?? serverOf(error);
    const said = { ...facts, part: this.#name, what, err: error };
    const isNew = this.#lost === undefined;
    this.#lost ??= {
      sinceMs: performance.now(),
      failures: new Map(),
      servers: new Map(),
      isTold: server === undefined,
    };
    const { failures, servers } = this.#lost;
    failures.set(what, (failures.get(what) ?? 0) + 1);
    if (!isNew) this.#logger?.debug(said, 'a part is still lost');
    else if (server) this.#logger?.debug({ ...said, server }, 'a part is lost with its server');
    else this.#logger?.warn(said, 'a part is lost; until it is back, its failures are logged at debug');
    if (!server || servers.has(server)) return;
    servers.set(server, watched !== undefined);
    this.#servers.missed(server, this.#name, { what, reason: facts.reason ?? reasonOf(error) });
  }

  works(): void {
    if (!this.#lost) return;
    const { sinceMs, failures, servers, isTold } = this.#lost;
    this.#lost = undefined;
    const said = { part: this.#name, awaySeconds: secondsSince(sinceMs), failures: Object.fromEntries(failures) };
    if (isTold) this.#logger?.warn(said, 'a part is back');
    else this.#logger?.debug(said, 'a part is back with its server');
    for (const [server, isWatched] of servers) this.#servers.works(server, this.#name, isWatched);
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
