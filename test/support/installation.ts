import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startSamplePlatform } from '../../src/embedded/sample-platform/sample-platform.ts';
import { engineOfRun, filmsOfRun, prepareEngine } from './films-and-engine-of-run.ts';
import { startNatsServer } from './nats.ts';
import { createMigratedDatabase, withClient } from './postgres.ts';
import { type LoggedEvent, readLog } from './read-log.ts';
import { findDownloader } from './sample-platform.ts';
import {
  type Environment,
  openAccount,
  type OpenedAccount,
  proofKeyOfTests,
  runCli,
  type ServiceProcess,
  type StartedBy,
  startProcess,
} from './service.ts';
import { openEventStore } from './shared-event-stores.ts';
import { makeDataDirectory } from './temporary-directory.ts';

/** The engines alone, at their addresses; the service's roles are started one by one, as processes of their own. */
export interface Installation extends AsyncDisposable {
  environment: Environment & { EVENTSTORE_URL: string; DATABASE_URL: string; REELTALLY_SECRET: string };
  /** SIGSTOP and SIGCONT of the event store: it takes what it is sent, and says nothing. */
  silenceEventStore: () => void;
  wakeEventStore: () => void;
  sampleUrl: (item: string) => string;
  startRole: (
    role: 'api' | 'projector' | 'dispatcher' | 'worker',
    environment?: Environment,
    started?: StartedBy,
  ) => Promise<ServiceProcess>;
  /** An account with one key, of the plan that `planFile` writes unless another is named. */
  openAccount: (plan?: string, environment?: Environment) => Promise<OpenedAccount>;
  /** Lets its processes have REELTALLY_CLOCK_OFFSET_SECONDS, as a demo does; without this it keeps real books. */
  allowShiftedClock: () => Promise<void>;
  /** Every event of the streams with this prefix, default: of all. */
  readLog: (prefix?: string) => Promise<LoggedEvent[]>;
  /** @throws where the command exits with another code than 0 */
  cli: <Answer = Record<string, unknown>>(words: readonly string[], environment?: Environment) => Promise<Answer>;
}

export async function startInstallation(given: Environment = {}): Promise<Installation> {
  const directory = makeDataDirectory();
  const eventStore = await openEventStore();
  const nats = await startNatsServer();
  const database = await createMigratedDatabase();
  const { ffmpegPath } = await findDownloader();
  const cacheDirectory = filmsOfRun() ?? join(directory, 'films');
  const platform = await startSamplePlatform({ cacheDirectory, ffmpegPath });
  const environment = {
    REELTALLY_DATA: join(directory, 'data'),
    REELTALLY_SECRET: 'a secret that is long enough for a test',
    ...proofKeyOfTests,
    EVENTSTORE_URL: eventStore.url,
    DATABASE_URL: database.url,
    NATS_URL: nats.url,
    SAMPLE_PLATFORM_URL: platform.url,
    ...engineOfRun(),
    ...given,
  };
  const running: ServiceProcess[] = [];
  return {
    environment,
    silenceEventStore: () => process.kill(eventStore.pid, 'SIGSTOP'),
    wakeEventStore: () => process.kill(eventStore.pid, 'SIGCONT'),
    sampleUrl: (item) => `${platform.url}/watch/${item}`,
    startRole: async (role, more = {}, startedBy) => {
      if (role === 'worker') await prepareEngine();
      const started = await startProcess(role, { ...environment, ...more }, startedBy);
      running.push(started);
      return started;
    },
    readLog: (prefix) => readLog(environment.EVENTSTORE_URL, prefix),
    cli: (words, more = {}) => runCli(words, { ...environment, ...more }),
    allowShiftedClock: async () => {
      await withClient(environment.DATABASE_URL, (client) =>
        client.query(
          `insert into installation (clock_may_be_shifted) values (true)
           on conflict (only_row) do update set clock_may_be_shifted = true`,
        ),
      );
    },
    openAccount: (plan = 'test', more = {}) => openAccount(plan, { ...environment, ...more }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((role) => role.stop()));
      await platform.close();
      await nats.remove();
      await eventStore.stop();
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The same for the tests of one file: started before them, ended after them. */
export function installationOfFile(given: Environment = {}): Installation {
  const installation: Partial<Installation> = {};
  beforeAll(async () => {
    Object.assign(installation, await startInstallation(given));
  });
  afterAll(() => installation[Symbol.asyncDispose]?.());
  return installation as Installation;
}
