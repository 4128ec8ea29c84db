import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, isPortFree } from '../embedded/free-port.ts';
import { launchEventStore } from '../embedded/event-store.ts';
import { launchNatsServer } from '../embedded/nats-server.ts';
import { launchPostgres } from '../embedded/postgres.ts';
import { startSamplePlatform } from '../embedded/sample-platform.ts';
import { findEngine } from './containment.ts';
import type { Config } from './config.ts';
import type { Addresses } from './instance.ts';

/** The parts that a bare machine lacks: each is embedded unless the environment has its address. */
export interface Engines {
  addresses: Addresses;
  /** Fulfilled with the name of a part that has ended by itself. */
  failed: Promise<string>;
  stop(): Promise<void>;
}

interface Part {
  stop: () => Promise<unknown>;
}

/** @param progress is told each step, for a person who waits */
export async function startEngines(
  config: Config,
  { demo, progress }: { demo: boolean; progress: (step: string) => void },
): Promise<Engines> {
  const started: Part[] = [];
  const failed = Promise.withResolvers<string>();
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const part of started.toReversed()) await part.stop();
  };
  const watch = (name: string, engine: Part & { exited: Promise<unknown>; url: string }): string => {
    started.push(engine);
    void engine.exited.then(() => {
      if (!stopping) failed.resolve(name);
    });
    return engine.url;
  };
  const directory = (name: string) => join(config.dataDirectory, name);
  const { EVENTSTORE_URL, DATABASE_URL, NATS_URL, NATS_SERVER_PATH: serverPath } = config;
  try {
    // Side by side: each takes a second or two at first.
    const starting = await Promise.allSettled([
      EVENTSTORE_URL ??
        launchEventStore({ dataDirectory: directory('event-store'), nodePath: process.execPath }).then((engine) => {
          progress('event store is ready (embedded)');
          return watch('the event store', engine);
        }),
      DATABASE_URL ??
        launchPostgres({ dataDirectory: directory('postgres'), onProgress: progress }).then((engine) => {
          progress('Postgres is ready (embedded)');
          return watch('Postgres', engine);
        }),
      NATS_URL ??
        launchNatsServer({ dataDirectory: directory('nats'), ...(serverPath && { serverPath }) }).then((engine) => {
          progress('nats-server is ready (embedded)');
          return watch('nats-server', engine);
        }),
      demo ? startSample(config, started).then((url) => (progress('sample platform is ready'), url)) : null,
    ]);
    const [eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl] = starting.map((part) => {
      if (part.status === 'rejected') throw part.reason;
      return part.value;
    }) as [string, string, string, string | null];
    return { addresses: { eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl }, failed: failed.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSample(config: Config, started: Part[]): Promise<string> {
  const engine = await findEngine(config);
  const cacheDirectory = join(config.dataDirectory, 'sample-platform');
  const port = await samplePlatformPort(config, cacheDirectory);
  const platform = await startSamplePlatform({ cacheDirectory, ffmpegPath: engine.ffmpegPath, port });
  started.push({ stop: () => platform.close() });
  return platform.url;
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
