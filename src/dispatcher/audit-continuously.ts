import { setTimeout as sleep } from 'node:timers/promises';
import { outageOf } from '../commands/outage.ts';
import type { Outages } from '../commands/outage.ts';
import type { Logger } from 'pino';
import { Divergence } from '../verify/divergence.ts';
import { Follower } from '../verify/follow.ts';
import type { Books } from '../verify/follow.ts';
import type { WholeLog } from '../commands/ports.ts';

/** What the metrics tell of the audit that runs beside the service. */
export interface AuditState {
  /** Events verified since this process began to lead. */
  events: number;
  /** 1 from a divergence on, until everything was verified again from the start without one. */
  divergences: 0 | 1;
  /** When everything up to that time had been verified, in milliseconds of `performance.now()`; before, when it began. */
  caughtUpMs: number;
}

export interface AuditDependencies {
  log: WholeLog;
  books: Books;
  logger: Logger;
  outages?: Outages;
  /** Between two looks at the log. Default 10 s. */
  lookEveryMs?: number;
  /** After a divergence, before it begins anew to see whether it was mended. Default 1 min. */
  startOverMs?: number;
}

/** It works for a tenth of the time, and in small pieces: whoever shares the process or the machine does not notice. */
const restShare = 9;
const pageEvents = 200;

/** Follows the log for as long as this process leads, and verifies what `ledger verify` does. */
export function auditContinuously({
  log,
  books,
  logger,
  outages,
  lookEveryMs = 10_000,
  startOverMs = 60_000,
}: AuditDependencies): {
  state: AuditState;
  stop: () => Promise<void>;
} {
  const outage = outageOf({ outages, logger }, 'the audit');
  const stopping = new AbortController();
  const { signal } = stopping;
  const state: AuditState = { events: 0, divergences: 0, caughtUpMs: performance.now() };
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);
  const rest = async (tookMs: number) => {
    await pause(tookMs * restShare);
    signal.throwIfAborted();
  };
  const begin = () => new Follower({ log, books, pageEvents, rest, progress: ({ events }) => (state.events = events) });
  const running = (async () => {
    let follower = begin();
    let reported = '';
    while (!signal.aborted) {
      try {
        await follower.catchUp();
        Object.assign(state, { events: follower.replay.events, divergences: 0, caughtUpMs: performance.now() });
        reported = '';
        outage.works();
        await pause(lookEveryMs);
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (error instanceof Divergence) {
          state.divergences = 1;
          if (error.message !== reported)
            logger.error(error.facts, 'the books diverge: what is found is not what the log makes it');
          reported = error.message;
          await pause(startOverMs);
          follower = begin();
        } else {
          outage.failed('a look at the log', error);
          await pause(lookEveryMs);
        }
      }
    }
  })();
  return {
    state,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
