import { join } from 'node:path';
import type { Pool } from 'pg';
import { missingMigrations } from '../adapters/postgres/migrations.ts';
import { projectDirectory, readVersion } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

export const migrationsDirectory = join(projectDirectory, 'projections/migrations');

/**
 * Processes of the service migrate the schema when they start; a command does not, as it may run beside an older service.
 *
 * @throws {ConfigurationRefused} if this version has migrations that the database lacks
 */
export async function requireSchema(pool: Pool): Promise<void> {
  const [missing] = await missingMigrations(pool, migrationsDirectory);
  if (missing === undefined) return;
  throw new ConfigurationRefused(
    `The database lacks ${missing}, a migration of version ${readVersion()}: start a process of it first, such as the ` +
      'projector, which migrates the schema. Nothing was changed.',
  );
}
