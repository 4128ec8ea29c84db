import type { Pool, PoolClient } from 'pg';
import type { LogBatch, LogPosition, RecordedEvent } from '../../src/ports/event-store.ts';
import { coveredUpTo, isPosition, positionOfEvent } from '../../src/ports/log-position.ts';

/** The place in the log that a reader has reached: a row of `checkpoints` (decision 21). */
export interface Checkpoint {
  /** The reader has taken everything up to here. */
  position: LogPosition;
  /**
   * The newest known position of an event at that time, whether the reader took the event or skipped it. It is never before a
   * taken event. Undefined: none is known.
   */
  eventPosition: bigint | undefined;
  /** The newest event that the reader has received. Undefined: none is known, as of a checkpoint of an earlier version. */
  seen: SeenEvent | undefined;
}

/** An event by which a log is told from another one. */
export type SeenEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'position'>;

/** Name of the checkpoint of the dispatcher, which keeps no read model. */
export const dispatchCheckpoint = 'dispatch';

/** The columns of a place in the log. */
const placeColumns = {
  position: 'numeric',
  prepare_position: 'numeric',
  event_position: 'numeric',
  seen_stream: 'text',
  seen_revision: 'bigint',
  seen_id: 'uuid',
  seen_position: 'numeric',
};
const placeNames = Object.keys(placeColumns);
const placeTypes = Object.values(placeColumns);
const columns = ['applied_events::float8', ...placeNames.map((name) => `${name}::text`)].join(', ');
const isNoPosition = 'position > 9223372036854775807';

type Row = Record<keyof typeof placeColumns, string | null> & { applied_events: number };

/** @returns undefined before the first event */
export async function readCheckpoint(pool: Pool, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await pool.query<Row>(`select ${columns} from checkpoints where name = $1`, [name]);
  return checkpointOf(rows[0]);
}

/** The checkpoints of all readers, by their names. */
export async function readCheckpoints(pool: Pool): Promise<ReadonlyMap<string, Checkpoint | undefined>> {
  const { rows } = await pool.query<ReachedRow>(reachedSql);
  return new Map(rows.map((row) => [row.name, checkpointOf(row)]));
}

/** As `readCheckpoint`, with the row locked until the transaction ends. */
export async function lockCheckpoint(client: PoolClient, name: string): Promise<Checkpoint | undefined> {
  const { rows } = await client.query<Row>(`select ${columns} from checkpoints where name = $1 for update`, [name]);
  return checkpointOf(rows[0]);
}

function checkpointOf(row: Row | undefined): Checkpoint | undefined {
  if (row === undefined || row.position === null) return undefined;
  const commit = BigInt(row.position);
  const seen = seenOf(row);
  if (row.prepare_position === null) {
    // Nothing was ever applied at an invalid position: it stands for the start of the log.
    if (!isPosition(positionOfEvent(commit)) && row.applied_events === 0) return undefined;
    return checkpointAt(commit, seen);
  }
  return {
    seen,
    position: { commit, prepare: BigInt(row.prepare_position) },
    eventPosition: row.event_position === null ? undefined : BigInt(row.event_position),
  };
}

function seenOf({ seen_stream, seen_revision, seen_id, seen_position }: Row): SeenEvent | undefined {
  if (seen_stream === null || seen_revision === null || seen_id === null || seen_position === null) return undefined;
  return { stream: seen_stream, revision: Number(seen_revision), id: seen_id, position: BigInt(seen_position) };
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

/** The checkpoint of a reader that begins. Creates its row, and removes an invalid position from it. */
export async function openCheckpoint(pool: Pool, name: string): Promise<Checkpoint | undefined> {
  await pool.query('insert into checkpoints (name) values ($1) on conflict do nothing', [name]);
  await pool.query(
    `update checkpoints set position = null where name = $1 and ${isNoPosition} and applied_events = 0`,
    [name],
  );
  return readCheckpoint(pool, name);
}

/** The checkpoint at the event of a commit position. */
export const checkpointAt = (position: bigint, seen?: SeenEvent): Checkpoint => ({
  position: positionOfEvent(position),
  eventPosition: position,
  seen,
});

/** The checkpoint after a batch. */
export function checkpointAfter(before: Checkpoint | undefined, { events, position }: LogBatch): Checkpoint {
  const isEvent = position.prepare >= position.commit;
  return {
    position,
    eventPosition: isEvent ? position.commit : (events.at(-1)?.position ?? before?.eventPosition),
    seen: events.at(-1) ?? before?.seen,
  };
}

/** The values of the columns `position` and `prepare_position`. */
export function positionValues(checkpoint: Checkpoint | undefined): (string | null)[] {
  if (!checkpoint) return [null, null];
  const { commit, prepare } = checkpoint.position;
  return [String(commit), prepare >= commit ? null : String(prepare)];
}

/** The values of all columns of a place in the log: see `placeColumns`. */
function placeValues(checkpoint: Checkpoint | undefined): (string | null)[] {
  const [position = null, prepare = null] = positionValues(checkpoint);
  const { eventPosition, seen } = checkpoint ?? {};
  return [
    position,
    prepare,
    prepare === null || eventPosition === undefined ? null : String(eventPosition),
    ...(seen ? [seen.stream, String(seen.revision), seen.id, String(seen.position)] : [null, null, null, null]),
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
    ...placeValues(after),
    ...positionValues(before),
  ]);
  const types = ['text', 'int', ...placeTypes, 'numeric', 'numeric'];
  const { rows } = await client.query<{ name: string }>({
    name: 'move-checkpoints',
    text: `with next as (
       select * from unnest(${types.map((type, index) => `$${String(index + 1)}::${type}[]`).join(', ')})
         n (name, events, ${placeNames.join(', ')}, expected, expected_prepare)
     ), unmoved as (
       select name from checkpoints c join next n using (name)
       where (c.position, c.prepare_position) is not distinct from (n.expected, n.expected_prepare)
       for update of c skip locked
     )
     update checkpoints c
     set ${placeNames.map((column) => `${column} = n.${column}`).join(', ')},
       applied_events = applied_events + n.events
     from next n join unmoved using (name) where c.name = n.name returning c.name`,
    values: types.map((_, column) => values.map((value) => value[column])),
  });
  return new Set(rows.map(({ name }) => name));
}

/**
 * Sets the checkpoint without comparing it, for readers that may take events twice. So there is no flush to the disk either: after
 * a crash of Postgres such a reader may take events of the last second again.
 */
export async function writeCheckpoint(
  client: Pool | PoolClient,
  name: string,
  checkpoint: Checkpoint | undefined,
): Promise<void> {
  await client.query(
    `insert into checkpoints (name, ${placeNames.join(', ')})
     select $1, ${placeTypes.map((type, index) => `$${String(index + 2)}::${type}`).join(', ')}
     from set_config('synchronous_commit', 'off', true)
     on conflict (name) do update set ${placeNames.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [name, ...placeValues(checkpoint)],
  );
}
