/**
 * The file that holds the log: one SQLite database in a folder, opened by one process at a time.
 *
 * Write-ahead logging with synchronous FULL, so that a COMMIT that returned survives a kill and a loss of power. Rows of
 * `events` are never changed or removed. `streams` has the state of each stream, written in the same transaction, so that an
 * append needs to read only one row.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Raised with every change of the tables below; another version is refused rather than guessed at. */
export const formatVersion = 1;

const SCHEMA = `
  CREATE TABLE streams (
    stream_key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    last_revision INTEGER NOT NULL,
    is_tombstoned INTEGER NOT NULL DEFAULT 0,
    is_soft_deleted INTEGER NOT NULL DEFAULT 0,
    truncate_before INTEGER NOT NULL DEFAULT 0,
    max_count INTEGER,
    max_age_seconds INTEGER
  ) STRICT;
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream_key INTEGER NOT NULL REFERENCES streams (stream_key),
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    content_type TEXT NOT NULL,
    data BLOB NOT NULL,
    metadata BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    UNIQUE (stream_key, revision)
  ) STRICT;
  PRAGMA user_version = ${formatVersion};
`;

/** The reason why the server cannot start, for the person who started it. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}

/** Opens the log of a folder, creating both where needed, and keeps every other process out until it is closed. */
export function openDatabase(directory: string): DatabaseSync {
  let database: DatabaseSync;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(join(directory, 'events.sqlite'));
  } catch (error) {
    throw new StartRefused(`Cannot open the log in ${directory}: ${messageOf(error)}`);
  }
  try {
    prepareDatabase(database, directory);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof StartRefused) throw error;
    throw new StartRefused(describeFailure(error, directory));
  }
}

function prepareDatabase(database: DatabaseSync, directory: string): void {
  // Exclusive locking is set before the first access: the lock is then taken once and goes with the process, however it ends.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  // On macOS a plain fsync may leave the data in the drive's own memory.
  database.exec('PRAGMA fullfsync = ON');
  database.exec('BEGIN EXCLUSIVE');
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get() as { count: number };
  if (version === 0 && tables.count === 0) database.exec(SCHEMA);
  else if (version !== formatVersion) {
    throw new StartRefused(
      `The log in ${directory} has format ${version}; this version of the event store reads format ${formatVersion} only.`,
    );
  }
  database.exec('COMMIT');
}

function describeFailure(error: unknown, directory: string): string {
  const message = messageOf(error);
  if (/locked|busy/i.test(message)) return `Another event store has the log in ${directory} open.`;
  if (/readonly|unable to open|disk I\/O/i.test(message)) return `The folder ${directory} is not writable: ${message}`;
  return `Cannot open the log in ${directory}: ${message}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
