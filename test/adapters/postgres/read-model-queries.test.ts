import { expect, it } from 'vitest';
import { createReadModelQueries } from '../../../src/adapters/postgres/read-model-queries.ts';
import { createDatabase, openTestPool, withClient } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';

it.each([
  {
    waiting: 'the table',
    locked: 'kept',
    from: 'jsonb_populate_record(null::kept, $1::jsonb) e left join kept f on true',
  },
  {
    waiting: 'another, before its type is looked up',
    locked: 'other',
    from: 'jsonb_populate_record(null::kept, $1::jsonb) e left join other on true left join kept f on true',
  },
])('a query that waits for $waiting while a rebuild swaps its table is asked of the new one', async (query) => {
  await using database = await createDatabase();
  const pool = openTestPool(database.url);
  try {
    await pool.query('create table kept (name text); create schema made_anew; create table made_anew.kept (name text)');
    await pool.query("create table other (); insert into made_anew.kept values ('new')");
    const rows = await withClient(database.url, async (client) => {
      await client.query(`begin; lock table ${query.locked} in access exclusive mode`);
      const asked = createReadModelQueries(pool).query(`select f.name from ${query.from}`, ['{"name": "expected"}']);
      await waitFor(async () => (await pool.query('select from pg_locks where not granted')).rowCount === 1, {
        what: 'the query to wait',
      });
      await client.query('drop table kept; alter table made_anew.kept set schema public; commit');
      return await asked;
    });
    expect(rows).toEqual([{ name: 'new' }]);
  } finally {
    await pool.end();
  }
});
