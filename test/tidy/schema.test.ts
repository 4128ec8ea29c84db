import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReadModels, type TestReadModels } from '../projections/read-models-under-test.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { createDatabase } from '../support/postgres.ts';
import { dumpSchema } from './schema-dump.ts';
import { root } from './source-files.ts';

const heading = `-- What the migrations in projections/migrations make, all together; they say what it is for.
-- Written by "npm run update:schema" from a migrated Postgres, and compared with one by "npm run check".

`;

let migrated: TestReadModels;
beforeAll(async () => {
  migrated = await createReadModels();
});
afterAll(() => migrated[Symbol.asyncDispose]());

/** The whole file as it should be. */
const describeSchema = async () => heading + (await dumpSchema(migrated.pool));

describe('docs/schema.sql', () => {
  it('is what the migrations make', async () => {
    await expect(await describeSchema()).toMatchFileSnapshot(join(root, 'docs/schema.sql'));
  });

  it('makes the same schema again', async () => {
    await using database = await createDatabase();
    const pool = openPatientPool(database.url, { max: 1 });
    try {
      await pool.query(await describeSchema());
      expect(await dumpSchema(pool)).toBe(await dumpSchema(migrated.pool));
    } finally {
      await pool.end();
    }
  });
});
