import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, isPortFree } from '../embedded/free-port.ts';
import { launchEventStore } from '../embedded/event-store/launch.ts';
import { lastLines } from '../embedded/server-process.ts';
import { launchNatsServer } from '../embedded/nats-server.ts';
import { launchPostgres } from '../embedded/postgres/launch.ts';
import { startSamplePlatform } from '../embedded/sample-platform/sample-platform.ts';
import { findEngine } from './sandbox.ts';
import { ConfigurationRefused } from './settings/config.ts';
import type { Config } from './settings/config.ts';
import type { Addresses } from './settings/instance.ts';

/** The parts that a bare machine lacks: each is embedded unless the environment has its address. */
export interface Engines {
  /** Fulfilled once all of them are ready. @throws why one of them is not */
  addresses: Promise<Addresses>;
  /** Fulfilled when one of them has ended by itself. */
  failed: Promise<EngineEnded>;
  /** Ends them, also those that are still starting. */
  stop(): Promise<void>;
}

interface Part {
  stop: () => Promise<unknown>;
}

interface LaunchedServer extends Part {
  url: string;
  logFile: string;
  /** Where it is not in the file alone. */
  lastWords?: () => string;
  exited: Promise<unknown>;
}

/** What it says is for the person who starts it. */
class EngineNotStarted extends Error {
  override readonly name = 'EngineNotStarted';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** An embedded server has ended by itself. */
export class EngineEnded extends Error {
  override readonly name = 'EngineEnded';
  /** The end of its log: not for ours, since what it says of data is not known. */
  readonly lastWords: string;

  constructor(name: string, { logFile, lastWords = () => lastLines(logFile) }: LaunchedServer) {
    super(`${name.replace(/^t/, 'T')} has ended by itself: see ${logFile}`);
    this.lastWords = lastWords();
  }
}

/**
 * @param progress is told each step, for a person who waits
 * @param abandoned aborted when they are not wanted any more
 */
export function startEngines(
  config: Config,
  { demo, progress, abandoned }: { demo: boolean; progress: (step: string) => void; abandoned: AbortSignal },
): Engines {
  const started: Part[] = [];
  const failed = Promise.withResolvers<EngineEnded>();
  let stopping = false;
  /** One that became ready too late to be wanted is stopped at once. */
  const ready = async <Ready extends Part>(starting: Promise<Ready>): Promise<Ready> => {
    const part = await starting.catch((error: unknown) => {
      throw error instanceof ConfigurationRefused ? error : new EngineNotStarted(error);
    });
    started.push(part);
    if (stopping) await part.stop();
    return part;
  };
  const launch = async (name: string, launching: Promise<LaunchedServer>) => {
    const server = await ready(launching);
    void server.exited.then(() => {
      if (!stopping) failed.resolve(new EngineEnded(name, server));
    });
    progress(`${name.replace('the ', '')} is ready (embedded)`);
    return server.url;
  };
  const directory = (name: string) => join(config.dataDirectory, name);
  const { EVENTSTORE_URL, DATABASE_URL, NATS_URL, NATS_SERVER_PATH: serverPath } = config;
  // Side by side: each takes a second or two at first.
  const starting = Promise.allSettled([
    EVENTSTORE_URL ??
      launch(
        'the event store',
        launchEventStore({ dataDirectory: directory('event-store'), nodePath: process.execPath }),
      ),
    DATABASE_URL ??
      launch(
        'Postgres',
        launchPostgres({ dataDirectory: directory('postgres'), onProgress: progress, signal: abandoned }),
      ),
    NATS_URL ??
      launch('nats-server', launchNatsServer({ dataDirectory: directory('nats'), ...(serverPath && { serverPath }) })),
    demo
      ? ready(startSample(config)).then(({ url }) => {
          progress('sample platform is ready');
          return url;
        })
      : null,
  ]);
  return {
    addresses: starting.then((parts) => {
      const [eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl] = parts.map((part) => {
        if (part.status === 'rejected') throw part.reason;
        return part.value;
      }) as [string, string, string, string | null];
      return { eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl };
    }),
    failed: failed.promise,
    stop: async () => {
      stopping = true;
      await Promise.all([starting, ...started.map((part) => part.stop())]);
    },
  };
}

async function startSample(config: Config): Promise<Part & { url: string }> {
  const engine = await findEngine(config);
  const cacheDirectory = join(config.dataDirectory, 'sample-platform');
  const port = await samplePlatformPort(config, cacheDirectory);
  const platform = await startSamplePlatform({ cacheDirectory, ffmpegPath: engine.ffmpegPath, port });
  return { url: platform.url, stop: () => platform.close() };
}

/** The same at every start where it can be, because the port is part of the addresses of queued videos. */
async function samplePlatformPort({ SAMPLE_PLATFORM_URL }: Config, directory: string): Promise<number> {
  if (SAMPLE_PLATFORM_URL) return Number(new URL(SAMPLE_PLATFORM_URL).port);
  const file = join(directory, 'port');
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  const port = before > 0 && (await isPortFree(before)) ? before : await freePort();
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, `${String(port)}\n`);
  return port;
}
