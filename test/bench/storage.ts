import { statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { projections } from '../../projections/all.ts';
import { catchUp } from '../../projections/runner/wait-for-checkpoint.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { type Append, appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import type { Bench } from './engines.ts';
import { type Figure, progress, type Results } from './figures.ts';
import { processorMicros } from './processor-time.ts';

const downloadsEach = 20;

/** Tables with a row or more for each download. */
const ofDownloads = ['jobs', 'job_timeline', 'overage_ledger'];
/** Tables with a row for each period of an account, and for each of its invoices. */
const ofPeriods = ['credits', 'period_money', 'invoices', 'document_mails'];
const ofAccounts = ['api_keys', 'api_key_window', 'hourly_limits', 'account_heads', 'people'];

/** What downloads leave behind in log and Postgres once their files have expired, and what applying one event to all read models costs. */
export async function benchStorage(bench: Bench, { accounts }: { accounts: number }): Promise<Results> {
  const downloads = accounts * downloadsEach;
  const store = connectEventStore({ url: bench.addresses.EVENTSTORE_URL, logger: pino({ level: 'silent' }) });
  const pool = new pg.Pool({ connectionString: bench.addresses.DATABASE_URL });
  try {
    progress(`writing a log of ${accounts} accounts, ${downloads} downloads and their jobs`);
    const { events, payloadBytes } = await writeLog(accounts, (appends) => appendAll(store, appends));
    const logBytes = statSync(join(bench.directory, 'log', 'events.sqlite')).size;

    progress(`applying ${events} events to all read models`);
    const { postgres } = bench.processes;
    const postgresBefore = processorMicros(postgres);
    const projector = await bench.startRole('projector');
    const startedMs = performance.now();
    for (const projection of projections) await catchUp({ store, pool }, projection, 600_000);
    const seconds = (performance.now() - startedMs) / 1_000;
    const micros = {
      projector: processorMicros(projector.pid),
      postgres: processorMicros(postgres) - postgresBefore,
    };
    return {
      ratios: [],
      figures: [
        figure('payload of an event', 'bytes', payloadBytes / events),
        figure('an event in the embedded log', 'bytes', logBytes / events),
        figure('events of all kinds into all read models', 'events/s', events / seconds),
        figure('an event, in the projector', 'µs', micros.projector / events),
        figure('an event, in Postgres', 'µs', micros.postgres / events),
        ...(await tableFigures(pool, 'a download', ofDownloads, downloads)),
        ...(await tableFigures(pool, 'a period of an account', ofPeriods, accounts)),
        ...(await tableFigures(pool, 'an account', ofAccounts, accounts)),
      ],
    };
  } finally {
    await pool.end();
    await store.close();
  }
}

async function writeLog(accounts: number, append: (appends: Append[]) => Promise<void>) {
  let [events, payloadBytes] = [0, 0];
  const write = async (appends: Append[]) => {
    for (const { data, metadata } of appends.flatMap((each) => each.events)) {
      events += 1;
      payloadBytes += Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(metadata));
    }
    await append(appends);
  };
  for (let number = 0; number < accounts; number += 1) {
    const account = new GeneratedAccount();
    await write([...account.open(), account.issueKey().append, account.invoice(), account.queue(downloadsEach)]);
    await write(account.work({ areOver: true }));
  }
  return { events, payloadBytes };
}

/** Bytes with all indexes, for each of so many. */
async function tableFigures(pool: pg.Pool, of: string, tables: readonly string[], count: number): Promise<Figure[]> {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    'select name, pg_total_relation_size(name::regclass)::float8 as bytes from unnest($1::text[]) name',
    [tables],
  );
  return rows.map(({ name, bytes }) => figure(`${of}, in ${name}`, 'bytes', bytes / count));
}

const figure = (name: string, unit: string, value: number): Figure => ({ name, unit, values: [value] });
