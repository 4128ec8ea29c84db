/** Reads a copy of the log, which no server uses, and leaves the folder as it is. */

import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { formatVersion } from './database.ts';

export interface CopiedEvent {
  stream: string;
  revision: number;
  id: string;
  type: string;
  data: Uint8Array;
  metadata: Uint8Array;
}

/** @throws if the file is no whole log of this version */
export function openCopiedLog(file: string) {
  // `immutable`: without it, SQLite would make files of its own beside the copy.
  const url = new URL(`${pathToFileURL(file).href}?immutable=1`);
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    const found = database.prepare('PRAGMA user_version').get()?.['user_version'];
    if (found !== formatVersion) throw new Error(`it has format ${String(found)}, not ${formatVersion}`);
    const [problem] = database.prepare('PRAGMA integrity_check(1)').all();
    const said = String(problem?.['integrity_check']);
    if (said !== 'ok') throw new Error(said);
  } catch (error) {
    database.close();
    throw error;
  }
  const head = database.prepare('SELECT coalesce(max(position), 0) AS position FROM events');
  head.setReadBigInts(true);
  const events = database.prepare(
    `SELECT name AS stream, revision, id, type, data, metadata FROM events JOIN streams USING (stream_key)
     ORDER BY stream_key, revision`,
  );
  return {
    /** Position of the newest event, 0 if there is none. */
    headPosition: () => (head.get() as { position: bigint }).position,
    /** Every event, stream by stream, in the order of revisions. */
    events: () => events.iterate() as Iterable<unknown> as Iterable<CopiedEvent>,
    [Symbol.dispose]: () => database.close(),
  };
}
