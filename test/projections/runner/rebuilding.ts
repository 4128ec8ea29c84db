import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type RebuildableProjection, tablesOf } from '../../../projections/runner/projection.ts';
import { rebuild, type Rebuilt } from '../../../projections/runner/rebuild.ts';
import type { ReplayProgress } from '../../../projections/runner/replay.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import { appendAll, GeneratedAccount } from '../generated-account.ts';
import { readModelsOfTest, testMacs, type TestReadModels } from '../read-models-under-test.ts';

/**
 * Accounts with keys, people, downloads, jobs and credit notes, and staff with what they ask for: every round adds to all.
 *
 * @param goOn asked before each round, or how many rounds
 */
export async function writeLog(store: EventStore, goOn: number | (() => boolean)): Promise<void> {
  const account = new GeneratedAccount();
  await appendAll(store, [...account.open(), account.invoice()]);
  for (let round = 0; typeof goOn === 'number' ? round < goOn : goOn(); round += 1) {
    const key = account.issueKey();
    const revoked = round % 2 === 0 ? [account.revokeKey(key)] : [];
    const person = account.invitePerson();
    const removed = round % 2 === 0 ? [account.removePerson(person.personId)] : [];
    await appendAll(store, [
      ...[
        key.append,
        ...revoked,
        person.append,
        ...removed,
        account.queue(2),
        ...account.work(),
        account.queue(1),
        account.warn(),
        account.cap(),
      ],
      account.credit(round + 1),
      account.employ(),
      account.ask(),
    ]);
    // A pause after each: the log must not grow faster than it can be read again and again.
    if (typeof goOn !== 'number') await sleep(50);
  }
}

export const rebuildOn = (
  store: EventStore,
  models: TestReadModels,
  projection: RebuildableProjection,
  options: { progress?: ReplayProgress[]; fromOlderLog?: boolean } = {},
): Promise<Rebuilt> => {
  const { progress = [], fromOlderLog = false } = options;
  return rebuild(projection, {
    store,
    macs: testMacs,
    pool: models.pool,
    fromOlderLog,
    progress: (each) => progress.push(each),
  });
};

/** Encryption gives other bytes each time. */
const withoutEncrypted: Readonly<Record<string, string>> = {
  customers: 'row(account_id, words)',
  api_keys: "row(key_id, account_id, key_hash, key_prefix, label = '', created_at, revoked_at)",
};

/** All rows of all tables, as far as they come from the log. */
export async function rowsOf(
  { pool }: TestReadModels,
  projection: RebuildableProjection,
): Promise<Record<string, string[]>> {
  const { corrected } = projection;
  const all: Record<string, string[]> = {};
  for (const table of tablesOf(projection)) {
    const row =
      table === corrected?.name
        ? `row(${[corrected.key, ...corrected.columns].join(', ')})`
        : (withoutEncrypted[table] ?? 't');
    const { rows } = await pool.query<{ row: string }>(`select ${row}::text as row from ${table} t order by 1`);
    all[table] = rows.map((each) => each.row);
  }
  return all;
}

/** The rows that an undisturbed runner makes of the same log. */
export async function rowsOfQuietRunner(
  store: EventStore,
  projection: RebuildableProjection,
): Promise<Record<string, string[]>> {
  const models = await readModelsOfTest(store, [projection]);
  await models.caughtUp();
  return rowsOf(models, projection);
}

/**
 * Every read model has the rows that an undisturbed runner of its own makes of the same log. One database holds them all: to make
 * one for each takes longer than to fill it.
 */
export async function expectRowsOfQuietRunners(
  store: EventStore,
  models: TestReadModels,
  projections: readonly RebuildableProjection[],
): Promise<void> {
  const quiet = await readModelsOfTest(store, projections);
  await quiet.caughtUp();
  for (const projection of projections)
    expect(await rowsOf(models, projection)).toEqual(await rowsOf(quiet, projection));
}

/** Everything about the tables of the service that is not their rows. */
export async function dumpSchema({ pool }: TestReadModels): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `with ours as (select c.* from pg_class c where relnamespace = 'public'::regnamespace)
     select c.relname as of, 'relation' as what, concat_ws(' ', c.relkind, c.relpersistence, c.reloptions, c.relacl) as text
     from ours c
     union all
     select c.relname, 'column ' || a.attnum, concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
         a.attstorage, a.attcompression, pg_get_expr(d.adbin, d.adrelid))
     from ours c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum where c.relkind = 'r'
     union all
     select c.relname, 'constraint ' || conname, pg_get_constraintdef(n.oid) || n.convalidated
     from ours c join pg_constraint n on n.conrelid = c.oid
     union all
     select c.relname, 'index', pg_get_indexdef(i.indexrelid) || i.indisvalid
     from ours c join pg_index i on i.indrelid = c.oid
     union all
     select c.relname, 'trigger', pg_get_triggerdef(t.oid) from ours c join pg_trigger t on t.tgrelid = c.oid
     order by 1, 2, 3`,
  );
  return rows;
}
