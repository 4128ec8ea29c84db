import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pMap from 'p-map';
import type pg from 'pg';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import type { JobCommand } from '../../src/domain/download-job.ts';
import { newId } from '../../src/system/clock-and-chance.ts';
import { recordStep } from '../commands/record-step.ts';
import { withClient } from '../support/postgres.ts';
import { readLog } from '../support/read-log.ts';
import type { Started } from '../support/service.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';

/** Where a running service's own engines are. */
function addressesOf({ dataDirectory }: Started): { eventStoreUrl: string; databaseUrl: string } {
  return JSON.parse(readFileSync(join(dataDirectory, 'instance.json'), 'utf8')) as {
    eventStoreUrl: string;
    databaseUrl: string;
  };
}

/** The events of streams with this prefix. */
export const readEvents = (service: Started, prefix: string) => readLog(addressesOf(service).eventStoreUrl, prefix);

/** Events in the streams with this prefix: a charge, a job or a key would be one more. */
export const countEvents = async (service: Started, prefix = ''): Promise<number> =>
  (await readEvents(service, prefix)).length;

/** One statement on the service's Postgres. @returns how many rows it gave or changed */
export async function runSql(service: Started, text: string, values: unknown[] = []): Promise<number> {
  return await withPostgres(service, async (client) => (await client.query(text, values)).rowCount ?? 0);
}

/** Waits until a job's status is another one. Asks Postgres, because polls of the API count against the key's window. */
export async function waitForChange(service: Started, token: string, status: string): Promise<void> {
  const what = `job ${token} to be no longer ${status}`;
  await waitForRow(service, what, {
    text: 'select from jobs where token = $1 and status <> $2',
    values: [token, status],
  });
}

/** Waits until the read model has a job. */
export const waitForJob = (service: Started, token: string): Promise<void> =>
  waitForRow(service, `job ${token} to be projected`, { text: 'select from jobs where token = $1', values: [token] });

/** Takes a queued job as a worker would, and does no more with it, or gives it up for good. */
export const takeJob = (service: Started, token: string, how: { failing?: boolean } = {}): Promise<void> =>
  takeJobs(service, [token], how);

/** The same with several, some at a time. */
export async function takeJobs(
  service: Started,
  tokens: readonly string[],
  { failing = false }: { failing?: boolean } = {},
): Promise<void> {
  const rows = await withPostgres(service, async (client) => {
    const text =
      'select token, account_id, usage_stream, usage_revision::float8 from jobs j where token = any($1) order by usage_revision';
    const query = await client.query<
      Record<'token' | 'account_id' | 'usage_stream', string> & { usage_revision: number }
    >(text, [tokens]);
    if (query.rows.length < tokens.length) throw new Error(`there is no job of one of ${tokens.join()}`);
    return query.rows;
  });
  const workerId = newId('wrk');
  // Without a heart that has beaten lately, the sweeper would take the claim from it.
  await runSql(service, 'insert into worker_heartbeats (worker_id) values ($1)', [workerId]);
  const claim = { workerId, revision: 0 };
  await withSteps(service, async (step) => {
    const take = async ({ token, account_id: accountId, ...usage }: (typeof rows)[number]) => {
      const { usage_stream: usageStream, usage_revision: usageRevision } = usage;
      await step({ kind: 'claim', token, workerId, accountId, usageStream, usageRevision });
      if (failing) await step({ kind: 'give_up', token, claim, reason: 'private_video', fault: 'video' });
    };
    await pMap(rows, take, { concurrency: 8 });
  });
}

/** Over one connection: a process may have no more to the log. */
async function withSteps(
  service: Started,
  work: (step: (command: JobCommand) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const store = connectEventStore({ url: addressesOf(service).eventStoreUrl, readTimeoutMs: patienceMs });
  try {
    await work((command) => recordStep({ store, now: () => new Date().toISOString() }, command));
  } finally {
    await store.close();
  }
}

async function waitForRow(service: Started, what: string, query: { text: string; values: unknown[] }): Promise<void> {
  await withPostgres(service, (client) => waitFor(async () => (await client.query(query)).rowCount === 1, { what }));
}

export async function waitForEnd(service: Started, token: string): Promise<void> {
  for (const status of ['queued', 'claimed', 'running']) await waitForChange(service, token, status);
}

/** Ends the time of a finished file, as the dispatcher would later on, and waits until that is projected. */
export async function expireFile(service: Started, token: string): Promise<void> {
  await withSteps(service, async (step) => {
    await step({ kind: 'expire_file', token, completedUntil: new Date().toISOString() });
  });
  const text = 'select from jobs where token = $1 and file_expired_at is not null';
  await waitForRow(service, `the file of ${token} to expire`, { text, values: [token] });
}

export const withPostgres = <Result>(service: Started, work: (client: pg.Client) => Promise<Result>): Promise<Result> =>
  withClient(addressesOf(service).databaseUrl, work);
