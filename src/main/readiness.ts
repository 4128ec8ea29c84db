import type { Pool } from 'pg';
import { projections } from '../../projections/all.ts';
import { findMissingTables } from '../../projections/runner/missing-tables.ts';
import { tablesOf } from '../../projections/runner/projection.ts';
import { readRefusal } from '../../projections/runner/refused-readers.ts';
import { askNats } from '../adapters/nats/connection.ts';
import { measureClock } from '../adapters/postgres/measure-clock.ts';
import { withDeadline } from '../async/deadline.ts';
import { PostgresUnusable, type Server } from '../ports/service-parts.ts';
import type { Connections } from './connect.ts';

const readinessTimeoutMs = 2_000;
const readinessKeptMs = 1_000;

/** Tells whether this process can do its work now. Asked more often, it asks the servers once a second. */
export function createReadiness(connections: Connections): () => ReturnType<typeof askParts> {
  let last: { atMs: number; result: ReturnType<typeof askParts> } | undefined;
  return () => {
    if (!last || performance.now() - last.atMs > readinessKeptMs) {
      last = { atMs: performance.now(), result: askParts(connections) };
    }
    return last.result;
  };
}

/** @returns parts: the state of each, for the operator */
async function askParts(connections: Connections) {
  const states = await askServers(connections, readinessTimeoutMs);
  const { isStarted, clock } = connections;
  const { offsetSeconds } = clock;
  return {
    ready: isStarted && Object.values(states).every((state) => state === 'ok'),
    parts: {
      ...(!isStarted && { start: 'under way' }),
      ...states,
      ...(await whatWaits(connections)),
      ...(offsetSeconds !== 0 && { clock_offset_seconds: String(offsetSeconds) }),
    },
  };
}

/** `ok` for each server that this process can work with, else the reason why it cannot. */
export async function askServers(
  { store, pool, nats, clock }: Connections,
  timeoutMs: number,
): Promise<Record<Server, string>> {
  const rows = async () => {
    await measureClock(pool, clock);
    return clock.fault()?.message ?? (await missingTable(pool)) ?? (await readRefusal(pool)) ?? 'ok';
  };
  const log = store.ready({ timeoutMs }).then((ready) => (ready ? 'ok' : 'does not answer'));
  const inTime = (state: Promise<string>) => withDeadline(state.catch(reason), timeoutMs, silence);
  const [postgres, event_store, queue] = await Promise.all([inTime(rows()), inTime(log), askNats(nats, timeoutMs)]);
  return { postgres, event_store, nats: queue };
}

/** Names a table of a read model that is missing, and the command that makes it. */
async function missingTable(pool: Pool): Promise<string | undefined> {
  const [missing] = await findMissingTables(pool, projections.flatMap(tablesOf));
  const projection = projections.find((each) => tablesOf(each).includes(missing ?? ''));
  return projection && `the table ${missing ?? ''} is missing: "projections rebuild ${projection.name}" makes it`;
}

const silence = () => 'does not answer';
const reason = (error: unknown) => (error instanceof PostgresUnusable ? error.message : silence());

/** The waiting parts of this process by name, each with the reason. */
export async function whatWaits({ waiting }: Connections): Promise<Record<string, string>> {
  const asked = [...waiting].map(
    async ([name, why]) => [name, await why().catch(() => 'does not say whether it waits')] as const,
  );
  const waits = (await Promise.all(asked)).flatMap(([name, why]) => (why === undefined ? [] : [[name, why] as const]));
  return Object.fromEntries(waits);
}
