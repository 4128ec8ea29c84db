import { expect, it } from 'vitest';
import { createReadModelQueries } from '../../../src/adapters/postgres/read-model-queries.ts';
import { createDatabase, openTestPool, withClient } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';

it('a query that waits while a rebuild swaps its table is asked of the new one', async () => {
  await using database = await createDatabase();
  const pool = openTestPool(database.url);
  try {
    await pool.query('create table kept (name text); create schema made_anew; create table made_anew.kept (name text)');
    await pool.query("insert into made_anew.kept values ('new')");
    const { query } = createReadModelQueries(pool);
    const rows = await withClient(database.url, async (client) => {
      await client.query('begin; lock table kept in access exclusive mode');
      const asked = query(
        'select f.name from jsonb_populate_record(null::kept, $1::jsonb) e left join kept f on true',
        ['{"name": "expected"}'],
      );
      await waitFor(async () => (await pool.query('select from pg_locks where not granted')).rowCount === 1, {
        what: 'the query to wait for the table',
      });
      await client.query('drop table kept; alter table made_anew.kept set schema public; commit');
      return await asked;
    });
    expect(rows).toEqual([{ name: 'new' }]);
  } finally {
    await pool.end();
  }
});
