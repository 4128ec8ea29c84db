import { sleep } from '../../async/sleep.ts';
import type { ServicePart } from '../../ports/service-parts.ts';

/** A visit that takes longer than one request: a live page, or a file that is made. */
export interface LongVisit {
  /** Aborted once its session has ended or its role has gone, a second later at most; and once the visit is left. */
  ended: AbortSignal;
  /**
   * Asks whether the session holds now, before anything is sent. While nobody can answer, it waits.
   *
   * @returns false from the end of the visit on
   */
  mayGoOn: () => Promise<boolean>;
  leave: () => void;
}

/** @param gone aborted once nobody waits for the answer any more, maybe before the visit has begun */
export function leaveOnce(gone: AbortSignal, { leave }: LongVisit): void {
  if (gone.aborted) leave();
  else gone.addEventListener('abort', leave, { once: true });
}

interface Dependencies<Session> {
  /** Those of the sessions that have not ended, by their ids, as Postgres has them now. @throws while nobody can tell */
  findSessions: (sessions: readonly Session[]) => Promise<ReadonlyMap<string, Session>>;
  part: ServicePart;
}

interface Asked<Session> {
  session: Session;
  /** Tells whether the role of the session is enough for the page. */
  mayOpen: (session: Session) => boolean;
  /** Asks the log, which knows a removal before the read models do. */
  isConfirmed: (session: Session) => Promise<boolean>;
}

type Visit<Session> = Asked<Session> & { end: AbortController };

const lookEveryMs = 250;

/**
 * The visits of this process that go on after their request was admitted. While there are any, one query finds the sessions of
 * all of them every quarter of a second, so that a page on which nothing happens ends too. Before something is sent, the log is
 * asked as well (decision 53).
 */
export class LongVisits<Session extends { sessionId: string }> {
  readonly #dependencies: Dependencies<Session>;
  readonly #open = new Set<Visit<Session>>();
  #isLooking = false;
  /** Sessions of the next query: of all that ask while one is under way. */
  readonly #asked = new Set<Session>();
  #next: Promise<ReadonlyMap<string, Session>> | undefined;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(dependencies: Dependencies<Session>) {
    this.#dependencies = dependencies;
  }

  begin(asked: Asked<Session>): LongVisit {
    const visit = { ...asked, end: new AbortController() };
    this.#open.add(visit);
    if (!this.#isLooking) void this.#look();
    return {
      ended: visit.end.signal,
      mayGoOn: () => this.#mayGoOn(visit),
      leave: () => this.#end(visit),
    };
  }

  #end(visit: Visit<Session>): void {
    this.#open.delete(visit);
    visit.end.abort();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#open.size > 0) {
      await sleep(lookEveryMs);
      await Promise.all(
        [...this.#open].map((visit) => this.#holds(visit).catch((error: unknown) => this.#failed(error))),
      );
    }
    this.#isLooking = false;
  }

  async #mayGoOn(visit: Visit<Session>): Promise<boolean> {
    const { signal } = visit.end;
    while (!signal.aborted) {
      try {
        if (!(await this.#holds(visit))) return false;
        if (!(await visit.isConfirmed(visit.session))) this.#end(visit);
        this.#dependencies.part.works();
        return !signal.aborted;
      } catch (error) {
        this.#failed(error);
        await sleep(lookEveryMs, signal);
      }
    }
    return false;
  }

  #failed(error: unknown): void {
    this.#dependencies.part.failed('a look at sessions', error);
  }

  /** Ends a visit whose session does not hold. */
  async #holds(visit: Visit<Session>): Promise<boolean> {
    const session = (await this.#find(visit.session)).get(visit.session.sessionId);
    const holds = session !== undefined && visit.mayOpen(session);
    if (!holds) this.#end(visit);
    return holds;
  }

  #find(session: Session): Promise<ReadonlyMap<string, Session>> {
    this.#asked.add(session);
    this.#next ??= this.#findNext();
    return this.#next;
  }

  async #findNext(): Promise<ReadonlyMap<string, Session>> {
    await this.#underWay;
    const asked = [...this.#asked];
    this.#asked.clear();
    this.#next = undefined;
    const found = this.#dependencies.findSessions(asked);
    this.#underWay = found.catch(() => undefined);
    return await found;
  }
}
