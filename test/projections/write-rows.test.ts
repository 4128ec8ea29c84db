import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, manyRows } from '../../projections/write-rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { createReadModels, type TestReadModels } from './read-models-under-test.ts';

let models: TestReadModels;

beforeAll(async () => {
  models = await createReadModels();
  await models.pool.query(`create table written (
    name text, number integer primary key, position numeric(20), time timestamptz, flag boolean, data json, note text
  )`);
});
afterAll(() => models[Symbol.asyncDispose]());

const awkward = [
  'plain',
  '',
  '\\N',
  '\\.',
  'tab\tand\nlines\r\nwith \\backslash\\',
  '"quoted" and \'quoted\'',
  'naïve – 漢字 🎬',
  '\u0001\b\f\v',
  'null',
];

const rowOf = (number: number) => ({
  name: awkward[number % awkward.length],
  number,
  position: '18446744073709551615',
  time: '2026-11-30T12:00:00.123Z',
  flag: number % 2 === 0,
  data: { text: awkward[number % awkward.length], list: ['a', '\\', null], nested: { none: null, number: -1.5 } },
  // Some rows do not name it, and some say that it is null.
  ...(number % 3 > 0 && { note: number % 3 === 1 ? null : 'a note' }),
});

async function written(rows: readonly object[]): Promise<unknown[]> {
  const client = await models.pool.connect();
  try {
    await client.query('begin');
    await insertRows(client, 'written', rows);
    return (await client.query<{ row: string }>('select written::text as row from written order by number')).rows;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

describe('rows that are added', () => {
  it('are the same whether they are few, as JSON, or many, by COPY', async () => {
    const rows = Array.from({ length: manyRows }, (_, number) => rowOf(number));
    const few = [];
    for (const row of rows) few.push(...(await written([row])));
    expect(await written(rows)).toEqual(few);
    expect(few).toHaveLength(manyRows);
  });

  it('that Postgres refuses fail the transaction, and leave the connection as good as new', async () => {
    const rows = Array.from({ length: manyRows }, (_, number) => rowOf(number));
    await expect(written([...rows, rowOf(0)])).rejects.toThrow('duplicate key');
    await expect(written(rows.map((row) => ({ ...row, time: 'never' })))).rejects.toThrow('timestamp');
    const client = await models.pool.connect();
    try {
      await expect(insertRows(client, 'missing', rows)).rejects.toThrow('"missing" does not exist');
      await insertRows(client, 'written', rows);
      expect((await client.query('delete from written')).rowCount).toBe(manyRows);
    } finally {
      client.release();
    }
  });

  it('whose connection is lost meanwhile are not awaited for ever', async () => {
    const [holder, writer] = [await models.pool.connect(), await models.pool.connect()];
    try {
      await holder.query('begin; lock table written');
      const { rows } = await writer.query<{ pid: number }>('select pg_backend_pid() as pid');
      const writing = insertRows(
        writer,
        'written',
        Array.from({ length: manyRows }, (_, number) => rowOf(number)),
      );
      const refused = expect(writing).rejects.toThrow('terminat');
      await waitFor(
        async () =>
          (await models.pool.query("select from pg_locks where mode = 'RowExclusiveLock' and not granted")).rowCount ===
          1,
        { what: 'the rows to wait for the table' },
      );
      await models.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await refused;
    } finally {
      holder.release(true);
      writer.release(true);
    }
  });
});
