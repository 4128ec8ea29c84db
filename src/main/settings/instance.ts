import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writePrivateFile } from '../../system/private-files.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

/** File in the data directory through which other roles and the command line find a running instance. */
const instanceFile = 'instance.json';

const instance = z.object({
  pid: z.int(),
  eventStoreUrl: z.string(),
  databaseUrl: z.string(),
  natsUrl: z.string(),
  samplePlatformUrl: z.string().nullable(),
  publicUrl: z.string(),
  /** Of the staff console; null if it has none. */
  staffUrl: z.string().nullable().default(null),
});
export type Instance = z.infer<typeof instance>;

export type Addresses = Pick<Instance, 'eventStoreUrl' | 'databaseUrl' | 'natsUrl' | 'samplePlatformUrl'>;

/** The addresses hold the servers' passwords, so only this user may read them. */
export function writeInstance(directory: string, running: Instance): void {
  writePrivateFile(join(directory, instanceFile), `${JSON.stringify(running, null, 2)}\n`);
}

export function removeInstance(directory: string): void {
  rmSync(join(directory, instanceFile), { force: true });
}

/**
 * Addresses of the servers: from the environment, else from the instance that runs on the data directory.
 *
 * @throws {ConfigurationRefused} if neither has them
 */
export function findAddresses(config: Config): Addresses {
  const { EVENTSTORE_URL, DATABASE_URL, NATS_URL, SAMPLE_PLATFORM_URL } = config;
  if (EVENTSTORE_URL && DATABASE_URL && NATS_URL) {
    return {
      eventStoreUrl: EVENTSTORE_URL,
      databaseUrl: DATABASE_URL,
      natsUrl: NATS_URL,
      samplePlatformUrl: SAMPLE_PLATFORM_URL ?? null,
    };
  }
  const running = requireInstance(config.dataDirectory);
  return {
    eventStoreUrl: EVENTSTORE_URL ?? running.eventStoreUrl,
    databaseUrl: DATABASE_URL ?? running.databaseUrl,
    natsUrl: NATS_URL ?? running.natsUrl,
    samplePlatformUrl: SAMPLE_PLATFORM_URL ?? running.samplePlatformUrl,
  };
}

/** Address of the sample platform, if one runs: from the environment, else from the instance. */
export const findSamplePlatform = (config: Config): string | undefined =>
  config.SAMPLE_PLATFORM_URL ?? runningInstance(config.dataDirectory)?.samplePlatformUrl ?? undefined;

/** Address of the API for a client. @throws {ConfigurationRefused} if neither the environment nor an instance has it */
export const findApi = (config: Config): string =>
  config.REELTALLY_URL ?? requireInstance(config.dataDirectory).publicUrl;

/** Origin of the staff console, for links to it: from the environment, else from the instance; undefined if neither has it. */
export function findStaffOrigin(config: Config): string | undefined {
  const url = config.STAFF_URL ?? runningInstance(config.dataDirectory)?.staffUrl;
  return url ? new URL(url).origin : undefined;
}

/** Address of the API of the instance that runs on the folder; undefined if none does. */
export const servedAt = (directory: string): string | undefined => runningInstance(directory)?.publicUrl;

function runningInstance(directory: string): Instance | undefined {
  try {
    const running = instance.parse(JSON.parse(readFileSync(join(directory, instanceFile), 'utf8')));
    process.kill(running.pid, 0);
    return running;
  } catch {
    return undefined;
  }
}

function requireInstance(directory: string): Instance {
  const running = runningInstance(directory);
  if (running) return running;
  throw new ConfigurationRefused(
    `No instance runs on ${directory}. Start one with "npm start", set REELTALLY_DATA to its folder, ` +
      'or set EVENTSTORE_URL, DATABASE_URL and NATS_URL.',
  );
}
