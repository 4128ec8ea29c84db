import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchEventStore } from '../embedded/event-store/launch.ts';
import { freePort, isPortFree } from '../embedded/free-port.ts';
import { launchNatsServer } from '../embedded/nats-server.ts';
import { launchPostgres } from '../embedded/postgres/launch.ts';
import { startSamplePlatform } from '../embedded/sample-platform/sample-platform.ts';
import { lastLines } from '../embedded/server-process.ts';
import { connectionsOf } from '../http/connection-limit.ts';
import { maxOpenFiles } from '../system/processes.ts';
import { findDownloader } from './downloader.ts';
import type { Config } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';
import type { Addresses } from './settings/instance.ts';

interface Part {
  stop: () => Promise<unknown>;
}

interface LaunchedServer extends Part {
  url: string;
  logFile: string;
  /** The end of its log, where the log is not in the file alone. */
  lastWords?: () => string;
  exited: Promise<unknown>;
}

/** The message is for the person who starts the service. */
class ServerNotStarted extends Error {
  override readonly name = 'ServerNotStarted';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** An embedded server has ended by itself. */
export class ServerEnded extends Error {
  override readonly name = 'ServerEnded';
  /** The end of its log. It may quote data, so it does not go into our own log. */
  readonly lastWords: string;

  constructor(name: string, { logFile, lastWords = () => lastLines(logFile) }: LaunchedServer) {
    super(
      `${name.replace(/^t/, 'T')} has ended by itself, and the service ends with it: see ${logFile}, and start the service again`,
    );
    this.lastWords = lastWords();
  }
}

/**
 * Starts the servers that a bare machine lacks: each is embedded unless the environment has its address.
 *
 * @param progress is told each step, for a person who waits
 * @param abandoned aborted when the start is given up
 */
export function startEmbeddedServers(
  config: Config,
  { demo, progress, abandoned }: { demo: boolean; progress: (step: string) => void; abandoned: AbortSignal },
) {
  const started: Part[] = [];
  const failed = Promise.withResolvers<ServerEnded>();
  let stopping = false;
  /** A server that becomes ready after the stop is stopped at once. */
  const ready = async <Ready extends Part>(starting: Promise<Ready>): Promise<Ready> => {
    const part = await starting.catch((error: unknown) => {
      throw error instanceof ConfigurationRefused ? error : new ServerNotStarted(error);
    });
    started.push(part);
    if (stopping) await part.stop();
    return part;
  };
  const launch = async (name: string, launching: Promise<LaunchedServer>) => {
    const server = await ready(launching);
    void server.exited.then(() => {
      if (!stopping) failed.resolve(new ServerEnded(name, server));
    });
    progress(`${name.replace('the ', '')} is ready (embedded)`);
    return server.url;
  };
  const directory = (name: string) => join(config.dataDirectory, name);
  const { EVENTSTORE_URL, DATABASE_URL, NATS_URL, NATS_SERVER_PATH: serverPath } = config;
  // Side by side: the first start of each takes a second or two.
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
    /** Fulfilled once all of them are ready; rejected with the reason why one cannot start. */
    addresses: starting.then((parts): Addresses => {
      const [eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl] = parts.map((part) => {
        if (part.status === 'rejected') throw part.reason;
        return part.value;
      }) as [string, string, string, string | null];
      return { eventStoreUrl, databaseUrl, natsUrl, samplePlatformUrl };
    }),
    /** Fulfilled when one of them has ended by itself. */
    failed: failed.promise,
    /** Ends all of them, also those that are still starting. */
    stop: async () => {
      stopping = true;
      await Promise.all([starting, ...started.map((part) => part.stop())]);
    },
  };
}

async function startSample(config: Config): Promise<Part & { url: string }> {
  const ffmpegPath = findDownloader(config).then((downloader) => downloader.ffmpegPath);
  // The worker needs it as well, and its start fails.
  ffmpegPath.catch(() => undefined);
  const cacheDirectory = join(config.dataDirectory, 'sample-platform');
  const port = await samplePlatformPort(config, cacheDirectory);
  const platform = await startSamplePlatform({
    cacheDirectory,
    ffmpegPath,
    port,
    maxConnections: connectionsOf('samplePlatform', maxOpenFiles()),
  });
  return { url: platform.url, stop: () => platform.close() };
}

/** The same at every start if it is free, because the port is part of the addresses of queued videos. */
async function samplePlatformPort({ SAMPLE_PLATFORM_URL }: Config, directory: string): Promise<number> {
  if (SAMPLE_PLATFORM_URL) return Number(new URL(SAMPLE_PLATFORM_URL).port);
  const file = join(directory, 'port');
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  const port = before > 0 && (await isPortFree(before)) ? before : await freePort();
  mkdirSync(directory, { recursive: true });
  writeFileSync(file, `${String(port)}\n`);
  return port;
}
