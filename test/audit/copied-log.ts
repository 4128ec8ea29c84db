import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { projections } from '../../projections/all.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { openDatabase } from '../../src/embedded/event-store/database.ts';
import { startServer } from '../../src/embedded/event-store/server.ts';
import type { TestReadModels } from '../projections/read-models-under-test.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { ForgedLog } from './forged-log.ts';

/** The log of a folder, served in this process and read by the real client over the wire. */
export async function withLog<Result>(
  directory: string,
  use: (store: ReturnType<typeof connectEventStore>, url: string) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase(directory);
  const onFailure = (error: unknown) => {
    throw error instanceof Error ? error : new Error(String(error));
  };
  const server = await startServer({ database, port: 0, onFailure });
  const url = `esdb://127.0.0.1:${String(server.port)}?tls=false`;
  const store = connectEventStore({ url });
  try {
    return await use(store, url);
  } finally {
    await store.close();
    await server.stop();
    database.close();
  }
}

/** Builds all read models from a log. */
export async function project(store: ReturnType<typeof connectEventStore>, to: TestReadModels): Promise<void> {
  const runners = to.run(store, ...projections);
  await to.caughtUp();
  await Promise.all(runners.map((runner) => runner.close()));
}

/** Gives a copy of a folder's log to be changed. */
export async function inCopyOf<Result>(
  original: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  const copy = makeTemporaryDirectory();
  try {
    cpSync(join(original, 'events.sqlite'), join(copy, 'events.sqlite'));
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Changes the log of a folder behind the back of its server. */
export function forge<Result>(directory: string, change: (log: ForgedLog) => Result): Result {
  const database = new DatabaseSync(join(directory, 'events.sqlite'));
  try {
    return change(new ForgedLog(database));
  } finally {
    database.close();
  }
}
