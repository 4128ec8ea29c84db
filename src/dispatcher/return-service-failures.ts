import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { forgetServiceFailure, listServiceFailures } from '../../projections/service-failures.ts';
import { outageOf } from '../ports/outage.ts';
import type { Outage, Outages } from '../ports/outage.ts';
import { returnServiceFailure } from '../commands/return-service-failure.ts';
import type { ReturnDependencies } from '../commands/return-service-failure.ts';
import { repeat } from './repeat.ts';

export interface ReturnFailuresDependencies extends ReturnDependencies {
  pool: Pool;
  logger: Logger;
  outages?: Outages | undefined;
  /** Default: 2 s. */
  everyMs?: number;
  /** Pause before a failed return is tried again. Default: 1 min. */
  setAsideMs?: number;
}

const defaultEveryMs = 2_000;
const defaultSetAsideMs = 60_000;
const maxFailures = 500;
const stepTimeoutMs = 5_000;

/**
 * Gives back what failed by the service's own fault. Which downloads these are stands in a list that `dispatch-downloads.ts`
 * fills; whether and how much is decided in the log, at the exact revision. One that is done leaves the list; whatever is
 * killed in between, it is looked at again and found done.
 */
export function startReturningServiceFailures(dependencies: ReturnFailuresDependencies): { stop: () => Promise<void> } {
  const { everyMs = defaultEveryMs } = dependencies;
  const outage = outageOf(dependencies, 'the return of service failures');
  const setAside = new Map<string, number>();
  return repeat((stopping) => returnRound({ ...dependencies, outage }, setAside, stopping), { everyMs, outage });
}

/** @param setAside tokens that are left alone until then, in milliseconds of `performance.now()` */
async function returnRound(
  dependencies: ReturnFailuresDependencies & { outage: Outage },
  setAside: Map<string, number>,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, store, logger, outage, setAsideMs = defaultSetAsideMs } = dependencies;
  for (const [token, untilMs] of setAside) if (performance.now() >= untilMs) setAside.delete(token);
  const tokens = await listServiceFailures(pool, { except: [...setAside.keys()], limit: maxFailures });
  // With the log away each would wait for it in turn.
  if (tokens.length > 0) await store.headPosition();
  for (const token of tokens) {
    if (stopping.aborted) return;
    try {
      const returned = await returnServiceFailure(dependencies, { token, timeoutMs: stepTimeoutMs });
      if (returned === 'not_invoiced') setAside.set(token, performance.now() + setAsideMs);
      else await forgetServiceFailure(pool, token);
      logger.info({ token, returned }, 'a failure of the service was looked at');
    } catch (error) {
      setAside.set(token, performance.now() + setAsideMs);
      outage.failed('a return', error, { token });
    }
  }
}
