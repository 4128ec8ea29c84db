import type { Pool, PoolClient } from 'pg';
import { coveredUpTo, isPosition, positionOfEvent } from '../../src/ports/log-position.ts';
import { ReaderRefused } from '../../src/ports/event-store.ts';
import type { EventStore, LogBatch, LogPosition } from '../../src/ports/event-store.ts';

/** The place in the log that a reader has reached: a row of `checkpoints` (decision 21). */
export interface Checkpoint {
  /** The reader has taken everything up to here. */
  position: LogPosition;
  /**
   * The newest known position of an event at that time, whether the reader took the event or skipped it. It is never before a
   * taken event. Undefined: none is known.
   */
  eventPosition: bigint | undefined;
}

/** Name of the checkpoint of the dispatcher, which keeps no read model. */
export const dispatchCheckpoint = 'dispatch';

const columns = 'position::text, prepare_position::text, event_position::text, applied_events::float8';
const isNoPosition = 'position > 9223372036854775807';

interface Row {
  position: string | null;
  prepare_position: string | null;
  event_position: string | null;
  applied_events: number;
}

/** @returns undefined before the first event */
export async function readCheckpoint(pool: Pool, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await pool.query<Row>(`select ${columns} from checkpoints where name = $1`, [name]);
  return checkpointOf(rows[0]);
}

/** As `readCheckpoint`, with the row locked until the transaction ends. */
export async function lockCheckpoint(client: PoolClient, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await client.query<Row>(`select ${columns} from checkpoints where name = $1 for update`, [name]);
  return checkpointOf(rows[0]);
}

function checkpointOf(row: Row | undefined): Checkpoint | undefined {
  if (row === undefined || row.position === null) return undefined;
  const commit = BigInt(row.position);
  if (row.prepare_position === null) {
    // Nothing was ever applied at an invalid position: it stands for the start of the log.
    if (!isPosition(positionOfEvent(commit)) && row.applied_events === 0) return undefined;
    return { position: positionOfEvent(commit), eventPosition: commit };
  }
  return {
    position: { commit, prepare: BigInt(row.prepare_position) },
    eventPosition: row.event_position === null ? undefined : BigInt(row.event_position),
  };
}

/** Subquery of the newest commit position of an event up to which a reader has taken everything; null if none is known. */
export const coveredEventSql = (name: string): string =>
  `(select case when prepare_position is null then position else event_position end from checkpoints where name = '${name}')`;

export function coveredEventFromText(text: string | null | undefined): bigint | undefined {
  if (!text) return undefined;
  const position = BigInt(text);
  return isPosition(positionOfEvent(position)) ? position : undefined;
}

/** The commit position up to which a reader has taken all of its events; 0 before the first event. */
export async function readReached(pool: Pool, name: string): Promise<bigint> {
  return coveredUpTo((await readCheckpoint(pool, name))?.position);
}

export type ReachedRow = Row & { name: string };

/** The same of every reader. */
export const reachedSql = `select name, ${columns} from checkpoints`;

/** By the names of the readers. */
export const reachedOf = (rows: readonly ReachedRow[]): ReadonlyMap<string, bigint> =>
  new Map(rows.map((row) => [row.name, coveredUpTo(checkpointOf(row)?.position)]));

/**
 * The checkpoint of a reader that begins. Creates its row, and removes an invalid position from it.
 *
 * @throws {ReaderRefused} if events were applied at an invalid position
 */
export async function openCheckpoint(pool: Pool, name: string): Promise<Checkpoint | undefined> {
  await pool.query('insert into checkpoints (name) values ($1) on conflict do nothing', [name]);
  await pool.query(
    `update checkpoints set position = null where name = $1 and ${isNoPosition} and applied_events = 0`,
    [name],
  );
  const checkpoint = await readCheckpoint(pool, name);
  if (checkpoint && !isPosition(checkpoint.position)) {
    throw new ReaderRefused(
      `the checkpoint of ${name} (${String(checkpoint.position.commit)}) is no position of a log, although events were ` +
        `applied: "projections rebuild ${name} --from-older-log" makes the read model anew`,
    );
  }
  return checkpoint;
}

/** The checkpoint after a batch. */
export function checkpointAfter(before: Checkpoint | undefined, { events, position }: LogBatch): Checkpoint {
  const isEvent = position.prepare >= position.commit;
  return { position, eventPosition: isEvent ? position.commit : (events.at(-1)?.position ?? before?.eventPosition) };
}

/** The values of the columns `position`, `prepare_position` and `event_position`. */
function checkpointValues(checkpoint: Checkpoint | undefined): (string | null)[] {
  if (!checkpoint) return [null, null, null];
  const { position, eventPosition } = checkpoint;
  if (position.prepare >= position.commit) return [String(position.commit), null, null];
  return [
    String(position.commit),
    String(position.prepare),
    eventPosition === undefined ? null : String(eventPosition),
  ];
}

/** A checkpoint that moves on, and the events that its reader takes. */
interface Move {
  name: string;
  before: Checkpoint | undefined;
  after: Checkpoint;
  events: { length: number };
}

/**
 * Moves those checkpoints that are where they are expected, and locks them until the transaction ends. One that somebody has
 * locked stays where it is.
 *
 * @returns the names of those that were moved
 */
export async function moveCheckpoints(client: PoolClient, moves: readonly Move[]): Promise<Set<string>> {
  const values = moves.map(({ name, before, after, events }) => [
    name,
    events.length,
    ...checkpointValues(after),
    ...checkpointValues(before).slice(0, 2),
  ]);
  const { rows } = await client.query<{ name: string }>({
    name: 'move-checkpoints',
    text: `with next as (
       select * from unnest($1::text[], $2::int[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[], $7::numeric[])
         n (name, events, position, prepare_position, event_position, expected, expected_prepare)
     ), unmoved as (
       select name from checkpoints c join next n using (name)
       where (c.position, c.prepare_position) is not distinct from (n.expected, n.expected_prepare)
       for update of c skip locked
     )
     update checkpoints c
     set position = n.position, prepare_position = n.prepare_position, event_position = n.event_position,
       applied_events = applied_events + n.events
     from next n join unmoved using (name) where c.name = n.name returning c.name`,
    values: [0, 1, 2, 3, 4, 5, 6].map((column) => values.map((value) => value[column])),
  });
  return new Set(rows.map(({ name }) => name));
}

/** Sets the checkpoint without comparing it, for readers that may take events twice. */
export async function writeCheckpoint(pool: Pool, name: string, checkpoint: Checkpoint): Promise<void> {
  await pool.query(
    `insert into checkpoints (name, position, prepare_position, event_position) values ($1, $2, $3, $4)
     on conflict (name) do update set position = excluded.position, prepare_position = excluded.prepare_position,
       event_position = excluded.event_position`,
    [name, ...checkpointValues(checkpoint)],
  );
}

/**
 * The position from which a reader goes on, after a check that the log still has the events that it has taken: in a restored
 * backup, the reader would otherwise begin at a position that the log has not reached yet, and skip events.
 *
 * A position after the last record cannot be told from one of a replaced log. Until the log has an event there, the reader goes
 * on from the newest event that it knows: between the two there was no event for it.
 *
 * @throws {ReaderRefused} if the log has lost events that the reader has taken
 */
export async function resumePosition(
  store: EventStore,
  name: string,
  checkpoint: Checkpoint | undefined,
): Promise<LogPosition | undefined> {
  if (!checkpoint) return undefined;
  const { position, eventPosition } = checkpoint;
  const head = (await store.headPosition()) ?? -1n;
  if (eventPosition !== undefined && head < eventPosition) {
    throw new ReaderRefused(
      `the checkpoint of ${name} (${String(eventPosition)}) is ahead of the log (${head < 0n ? 'empty' : String(head)}): ` +
        'the log was replaced by an older one; "projections rebuild all --from-older-log" makes the read models anew from it',
    );
  }
  if (head >= position.commit) return position;
  return eventPosition === undefined ? undefined : positionOfEvent(eventPosition);
}
