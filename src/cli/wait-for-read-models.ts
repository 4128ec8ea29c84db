import type { Pool } from 'pg';
import type { Projection } from '../../projections/runner/projection.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import type { EventStore } from '../ports/event-store.ts';
import { isPostgresAway } from '../ports/service-parts.ts';
import { CommandFailed, type Output } from './output.ts';

/** How long commands wait for the log and the read models, and what they print meanwhile. */

/** Limit of the wait for the log, and for read models while a projector runs. */
export const commandTimeoutMs = 30_000;
/** Limit of the wait for read models while no projector runs: another one may be about to take over. */
const abandonedTimeoutMs = 5_000;
const tellAfterMs = 1_000;

/** A person is told what a command waits for, once that takes a second. */
export async function tellWait<Value>(
  { terminal, tell }: Pick<Output, 'terminal' | 'tell'>,
  what: string,
  work: Promise<Value>,
): Promise<Value> {
  if (!terminal) return await work;
  const timer = setTimeout(() => {
    tell(`waiting for ${what}\n`);
  }, tellAfterMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

interface Waiting {
  store: EventStore;
  pool: Pool;
  output: Output;
  hasProjector: () => Promise<boolean>;
}

/**
 * Waits until read models show something. Without Postgres they do not: what the command has recorded is told all the same.
 *
 * @returns whether they do
 */
export async function untilShown(
  { output, hasProjector }: Pick<Waiting, 'output' | 'hasProjector'>,
  wait: (timeoutMs: number) => Promise<boolean>,
): Promise<boolean> {
  try {
    if (await tellWait(output, 'the read models to follow the log', wait(abandonedTimeoutMs))) return true;
    if (!(await hasProjector())) return false;
    return await tellWait(output, 'the read models to follow the log', wait(commandTimeoutMs - abandonedTimeoutMs));
  } catch (error) {
    if (!isPostgresAway(error)) throw error;
    return false;
  }
}

/** @param what was recorded, such as `the revocation of key_…`; then: what else is to be said */
export const notInForce = (what: string, then = ''): CommandFailed =>
  new CommandFailed(`${what} is recorded, not yet in force: the projector is behind or away${then}`, 2);

/** Waits until a read model holds everything that is in the log now. @returns whether it does */
export const caughtUp = (cli: Waiting, projection: Projection): Promise<boolean> =>
  untilShown(cli, (timeoutMs) => catchUp(cli, projection, timeoutMs));
