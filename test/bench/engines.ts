import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { startEventStore } from '../support/event-store.ts';
import { startNatsServer } from '../support/nats.ts';
import { startTestPlatform } from '../support/sample-platform.ts';
import { type Environment, type ServiceProcess, startProcess } from '../support/service.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { startRedis } from './redis.ts';

/** The three engines as `npm start` has them, durable, and whatever is started beside them. */
export interface Bench extends AsyncDisposable {
  directory: string;
  secret: string;
  addresses: { EVENTSTORE_URL: string; DATABASE_URL: string; NATS_URL: string };
  /** Of the sample platform. */
  sampleUrl: string;
  ytDlpPath: string;
  processes: { postgres: number; 'event store': number; Redis?: number };
  startRole: (role: 'api' | 'projector' | 'dispatcher' | 'worker', more?: Environment) => Promise<ServiceProcess>;
  startContender: (file: string, kind?: string) => Promise<{ url: string; pid: number }>;
}

export async function startBench(): Promise<Bench> {
  const directory = makeTemporaryDirectory();
  const postgres = await launchPostgres({ dataDirectory: join(directory, 'postgres') });
  const eventStore = await startEventStore({ dataDirectory: join(directory, 'log') });
  const nats = await startNatsServer();
  const platform = await startTestPlatform();
  const redis = await startRedis(directory);
  const secret = 'a secret that is long enough for a bench';
  const addresses = { EVENTSTORE_URL: eventStore.url, DATABASE_URL: postgres.url, NATS_URL: nats.url };
  const running: { stop: () => Promise<unknown> }[] = [];
  return {
    directory,
    secret,
    addresses,
    sampleUrl: platform.url,
    ytDlpPath: platform.engine.ytDlpPath,
    processes: { postgres: postgres.pid, 'event store': eventStore.pid, ...(redis && { Redis: redis.pid }) },
    startRole: async (role, more = {}) => {
      const own = { REELTALLY_SECRET: secret, REELTALLY_DATA: directory, SAMPLE_PLATFORM_URL: platform.url, PORT: '0' };
      const environment = { ...addresses, ...own, ...more };
      const started = await startProcess(role, environment);
      running.push(started);
      return started;
    },
    startContender: async (file, kind) => {
      const contender = await startContender([file, ...(kind ? [kind] : [])], {
        DATABASE_URL: postgres.url,
        REDIS_URL: redis?.url,
      });
      running.push(contender);
      return contender;
    },
    [Symbol.asyncDispose]: async () => {
      for (const part of running.toReversed()) await part.stop();
      await redis?.stop();
      await platform.close();
      await nats.remove();
      await eventStore.stop();
      await postgres.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startContender([file, ...args]: [file: string, ...args: string[]], environment: NodeJS.ProcessEnv) {
  const path = fileURLToPath(new URL(`./contenders/${file}`, import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', path, ...args], {
    env: { PATH: process.env['PATH'], TEST_RUN: process.env['TEST_RUN'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { url } = JSON.parse(await firstLine(child, file)) as { url: string };
  const stop = async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return { url, pid: child.pid ?? -1, stop };
}

async function firstLine(child: ChildProcess, file: string): Promise<string> {
  if (!child.stdout) throw new Error(`${file} has no standard output`);
  const lines = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const [line] = await Promise.race([lines, once(child, 'exit')]);
  if (typeof line !== 'string') throw new Error(`${file} ended before it listened`);
  return line;
}
