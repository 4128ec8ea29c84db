/** Runs once before all test files: one Postgres for the whole run, in which every file makes databases of its own. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { readProcessFile } from '../../src/system/processes.ts';
import { makeBrowser, whyNoBrowser } from './browser-of-run.ts';
import { makeConsole } from './console-of-run.ts';
import { whyNoEarlierVersion } from './earlier-version.ts';
import { linkEngine } from './films-and-engine-of-run.ts';
import { readGivenEngines } from './given-engines.ts';
import { offer } from './offers-of-run.ts';
import { prepareMigratedDatabase } from './postgres.ts';
import { processesNaming } from './processes-naming.ts';
import { whyNoPromtool } from './promtool.ts';
import { whyNoPython } from './python.ts';
import { makeService } from './services-of-run.ts';
import { makeDataDirectory, makeTemporaryDirectory } from './temporary-directory.ts';
import { waitFor } from './wait-for.ts';

/** The processes of the test files find what is made here by these variables. */
export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  // Each group of tests calls this: the first sets up for all of the run.
  if (process.env['TEST_MADE_ONCE'] !== undefined) return undefined;
  const directory = makeTemporaryDirectory();
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rmSync(directory, { recursive: true, force: true }));
  // What the tests start is compiled once: it starts in half the time.
  process.env['NODE_COMPILE_CACHE'] = join(directory, 'compile-cache');
  process.env['TEST_MADE_ONCE'] = directory;
  undo.defer(() => requireServicesEnded(directory));
  linkEngine(directory);
  process.env['TEST_POSTGRES'] = readGivenEngines().databaseUrl ?? (await startPostgres(undo));
  await prepareMigratedDatabase();
  undo.defer(warnOfLeftOut);
  const offers = await offer({
    service: makeService,
    browser: makeBrowser,
    console: makeConsole,
  });
  undo.defer(() => offers.stop());
  process.env['TEST_OFFERS'] = offers.url;
  const made = undo.move();
  return () => made.disposeAsync();
}

async function startPostgres(undo: AsyncDisposableStack): Promise<string> {
  const dataDirectory = makeDataDirectory();
  undo.defer(() => rmSync(dataDirectory, { recursive: true, force: true }));
  const server = await launchPostgres({
    dataDirectory,
    // Files run side by side, each with pools of its own. Nothing here has to survive a power cut; commits stay synchronous.
    settings: { max_connections: '400', fsync: 'off', full_page_writes: 'off', autovacuum: 'off' },
  });
  undo.defer(async () => {
    await server.stop();
  });
  return server.url;
}

/** One that a test has left behind takes time from all others, and stays beside the next run. */
async function requireServicesEnded(directory: string): Promise<void> {
  const dataOf = (pid: number) => /REELTALLY_DATA=[^\0]*/.exec(readProcessFile(pid, 'environ') ?? '')?.[0] ?? '';
  const isService = (pid: number) => readProcessFile(pid, 'cmdline')?.includes('reeltally.js') === true;
  const left = () => processesNaming(directory).filter(isService);
  const what = `the end of services (${left().map(dataOf).join(', ')})`;
  await waitFor(() => left().length === 0, { what });
}

/** Below the summary of the run, where nobody overlooks it. */
function warnOfLeftOut(): void {
  const reasons = {
    'BROWSER TESTS': whyNoBrowser(),
    'EXAMPLES IN PYTHON': whyNoPython(),
    'ROLLING UPGRADE': whyNoEarlierVersion(),
    'ALERTS BY PROMTOOL': whyNoPromtool(),
  };
  for (const [what, why] of Object.entries(reasons))
    if (why !== undefined) console.error(`\nLEFT OUT: THE ${what}. ${why}\n`);
}
