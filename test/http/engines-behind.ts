import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { connectEventStore } from '../../src/adapters/event-store.ts';
import { newUuid } from '../../src/adapters/system.ts';
import { recordJobProgress } from '../../src/commands/record-job-progress.ts';
import { freshCause } from '../commands/usage-account.ts';
import { readLog } from '../support/log.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Where a running service's own engines are. */
function addressesOf({ dataDirectory }: ServiceProcess): { eventStoreUrl: string; databaseUrl: string } {
  return JSON.parse(readFileSync(join(dataDirectory, 'instance.json'), 'utf8')) as {
    eventStoreUrl: string;
    databaseUrl: string;
  };
}

/** Events of the service's own in the streams with this prefix: a charge, a job or a key would be one more. */
export async function countEvents(service: ServiceProcess, prefix = ''): Promise<number> {
  const events = await readLog(addressesOf(service).eventStoreUrl, prefix);
  return events.filter(({ stream }) => !stream.startsWith('$')).length;
}

/** One statement on the service's Postgres. @returns how many rows it gave or changed */
export async function runSql(service: ServiceProcess, text: string, values: unknown[] = []): Promise<number> {
  return await withPostgres(service, async (client) => (await client.query(text, values)).rowCount ?? 0);
}

/** Holds up the read model of credits for as long as the work takes: its rows stay readable, and as they are. */
export async function whileCreditsStandStill(service: ServiceProcess, work: () => Promise<void>): Promise<void> {
  await withPostgres(service, async (client) => {
    await client.query('begin');
    await client.query('lock table credits in share mode');
    await work();
    await client.query('rollback');
  });
}

/** Waits until a job's status is another one. Asks Postgres, because polls of the API count against the key's window. */
export async function waitForChange(service: ServiceProcess, token: string, status: string): Promise<void> {
  const what = `job ${token} to be no longer ${status}`;
  await waitForRow(service, what, {
    text: 'select from jobs where token = $1 and status <> $2',
    values: [token, status],
  });
}

async function waitForRow(
  service: ServiceProcess,
  what: string,
  query: { text: string; values: unknown[] },
): Promise<void> {
  await withPostgres(service, (client) =>
    waitFor(async () => (await client.query(query)).rowCount === 1, { what, timeoutMs: 30_000 }),
  );
}

export async function waitForEnd(service: ServiceProcess, token: string): Promise<void> {
  for (const status of ['queued', 'claimed', 'running']) await waitForChange(service, token, status);
}

/** Ends the time of a finished file, as the dispatcher would later on, and waits until that is projected. */
export async function expireFile(service: ServiceProcess, token: string): Promise<void> {
  const now = () => new Date().toISOString();
  const store = connectEventStore({ url: addressesOf(service).eventStoreUrl });
  try {
    const command = { kind: 'expire_file', token, completedUntil: now() } as const;
    await recordJobProgress({ store, now, newUuid }, command, { ...freshCause(), timeoutMs: 10_000 });
  } finally {
    await store.close();
  }
  const text = 'select from jobs where token = $1 and file_expired_at is not null';
  await waitForRow(service, `the file of ${token} to expire`, { text, values: [token] });
}

async function withPostgres<Result>(
  service: ServiceProcess,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: addressesOf(service).databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
