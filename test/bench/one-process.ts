import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { familyOf, listProcesses, readProcessFile } from '../../src/system/processes.ts';
import { megabytesOfMebibyte, proportionalMebibytes, residentMebibytes } from '../support/process-memory.ts';
import { startProcess } from '../support/service.ts';
import { sum } from '../support/sum.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { type Figure, progress } from './figures.ts';
import { askUntil, mixedRequests } from './memory.ts';
import { countKnownKeys, createTokens, openAccounts, waitUntilKeysAreKnown } from './population.ts';

/** After the start, or the last answer: for what they have left behind. */
const restMs = 5_000;
const secret = 'a secret that is long enough for a bench';

interface OneProcess {
  pid: number;
  url: string;
  directory: string;
}

/**
 * Memory of the whole service in one process, and of its servers beside it, as `npm start` has them: at idle after its first
 * start, and after so many requests.
 *
 * @param load accounts: how many of them ask
 */
export async function benchOneProcess(load: {
  accounts: number;
  requests: number;
  seconds: number;
}): Promise<Figure[]> {
  const directory = makeTemporaryDirectory();
  try {
    await using service = await startProcess('all', {
      REELTALLY_DATA: directory,
      REELTALLY_SECRET: secret,
      PORT: '0',
      // Downloads stay queued: the worker finds too little room.
      MIN_FREE_DISK_MIB: '1000000000',
    });
    const one = { pid: service.pid, url: service.url, directory };
    await sleep(restMs);
    const idle = memoryOf(one);
    await ask(one, load);
    await sleep(restMs);
    return [...oneProcessFigures(moments.idle, idle), ...oneProcessFigures(moments.after, memoryOf(one))];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function ask(
  { url, directory }: OneProcess,
  { accounts, requests, seconds }: { accounts: number; requests: number; seconds: number },
): Promise<void> {
  const { eventStoreUrl, databaseUrl } = JSON.parse(readFileSync(join(directory, 'instance.json'), 'utf8')) as {
    eventStoreUrl: string;
    databaseUrl: string;
  };
  const store = connectEventStore({ url: eventStoreUrl, logger: pino({ level: 'silent' }) });
  const pool = new pg.Pool({ connectionString: databaseUrl });
  try {
    const keysOfDemo = await countKnownKeys(pool);
    progress(`all roles in one process: opening ${accounts} accounts`);
    const many = await openAccounts(store, { accounts, keys: 1, waiting: true }, createTokens(secret));
    const [one] = many;
    if (!one) throw new Error('no account was opened');
    await waitUntilKeysAreKnown(pool, keysOfDemo + accounts);
    const load = { connections: 64, seconds, requests: mixedRequests({ many, withFile: many, one }) };
    await askUntil(requests, { url, pool, load, answered: 0 });
  } finally {
    await pool.end();
    await store.close();
  }
}

interface Memory {
  resident: number;
  /** Of which each page counts by the share that a process has in it. */
  proportional: number;
  /** The same of the servers and other descendants. */
  besides: Record<string, number>;
}

/** In mebibytes. The servers of a service are its descendants. */
function memoryOf({ pid }: OneProcess): Memory {
  const besides: Record<string, number> = { Postgres: 0, 'the event store': 0, NATS: 0, 'everything else': 0 };
  for (const each of familyOf([pid], listProcesses()).filter((other) => other !== pid))
    besides[partOf(each)] = (besides[partOf(each)] ?? 0) + proportionalMebibytes(each);
  return { resident: residentMebibytes(pid), proportional: proportionalMebibytes(pid), besides };
}

export function oneProcessFigures(when: string, { resident, proportional, besides }: Memory): Figure[] {
  const figure = (name: string, mebibytes: number): Figure => ({
    name: `${name}, ${when}`,
    unit: 'MB',
    values: [mebibytes * megabytesOfMebibyte],
  });
  return [
    figure('all roles in one process', resident),
    ...Object.entries(besides).map(([part, mebibytes]) => figure(`${part} beside all roles in one process`, mebibytes)),
    figure('all roles in one process and the servers', proportional + sum(Object.values(besides))),
  ];
}

/** The moments at which it is measured. */
export const moments = { idle: 'idle', after: 'after the requests' } as const;

function partOf(pid: number): string {
  const command = (readProcessFile(pid, 'cmdline') ?? '').split('\0');
  if (command[0]?.includes('postgres')) return 'Postgres';
  if (command[0]?.includes('nats-server')) return 'NATS';
  return command.some((word) => word.includes('embedded/event-store/main')) ? 'the event store' : 'everything else';
}
