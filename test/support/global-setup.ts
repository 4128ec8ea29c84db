/** Runs once before all test files: one Postgres for the whole run, in which every file makes databases of its own. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { readGivenEngines } from './given-engines.ts';
import { linkEngine } from './made-once.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the administrator's database in the run's Postgres. */
    postgresUrl: string;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const directory = makeTemporaryDirectory();
  // What the tests start is compiled once: it starts in half the time.
  process.env['NODE_COMPILE_CACHE'] = join(directory, 'compile-cache');
  process.env['TEST_MADE_ONCE'] = directory;
  linkEngine(directory);
  const remove = (): void => {
    rmSync(directory, { recursive: true, force: true });
  };
  const { databaseUrl } = readGivenEngines();
  if (databaseUrl !== undefined) {
    project.provide('postgresUrl', databaseUrl);
    return async () => remove();
  }
  try {
    const server = await launchPostgres({
      dataDirectory: join(directory, 'postgres'),
      // Files run side by side, each with pools of its own. Nothing here has to survive a power cut; commits stay synchronous.
      settings: { max_connections: '400', fsync: 'off', full_page_writes: 'off' },
    });
    project.provide('postgresUrl', server.url);
    return async () => {
      await server.stop();
      remove();
    };
  } catch (error) {
    remove();
    throw error;
  }
}
