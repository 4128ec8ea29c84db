import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { launchEventStore, type LaunchOptions } from '../../src/embedded/event-store/launch.ts';
import { listen } from './listen.ts';
import { makeDataDirectory } from './temporary-directory.ts';

export interface TestEventStore {
  url: string;
  pid: number;
  dataDirectory: string;
  /** SIGKILL, as a crash would; fulfilled when the process is gone. */
  kill: () => Promise<void>;
  /** Ends it in order. */
  stop: () => Promise<void>;
}

/** An event store of the test's own, in a fresh folder unless one is given; a fresh folder goes when the store is stopped. */
export async function startEventStore(
  options: Partial<Pick<LaunchOptions, 'dataDirectory' | 'port' | 'endOfCatchUp'>> = {},
): Promise<TestEventStore> {
  const dataDirectory = options.dataDirectory ?? makeDataDirectory();
  const launched = await launchEventStore({
    dataDirectory,
    nodePath: process.execPath,
    endOfCatchUp: options.endOfCatchUp,
    ...(options.port === undefined ? {} : { port: options.port }),
  });
  let isWanted = true;
  void launched.exited.then(() => {
    // Its clients would only say that they wait for it.
    if (isWanted) console.error(`The event store ${launched.pid} of a test ended by itself: ${launched.lastWords()}`);
  });
  return {
    url: launched.url,
    pid: launched.pid,
    dataDirectory,
    kill: async () => {
      isWanted = false;
      killIfAlive(launched.pid);
      await launched.exited;
    },
    stop: async () => {
      isWanted = false;
      await launched.stop();
      if (options.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}

/** The address of an event store that is not there: nobody listens at its port. */
export async function deadUrl(): Promise<string> {
  const { port, close } = await listen(createServer());
  await close();
  return `esdb://127.0.0.1:${port}?tls=false`;
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
