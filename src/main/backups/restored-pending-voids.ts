import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { type PendingVoidRow, restorePendingVoidRows } from '../../adapters/postgres/pending-voids.ts';
import { pendingVoidsFile } from './backup-folder.ts';

/** A restored data folder has no Postgres yet: its first start puts the pending voids back, before anything is charged. */
export async function putPendingVoidsBack(dataDirectory: string, pool: Pool): Promise<void> {
  const file = join(dataDirectory, pendingVoidsFile);
  if (!existsSync(file)) return;
  await restorePendingVoidRows(pool, JSON.parse(readFileSync(file, 'utf8')) as PendingVoidRow[]);
  rmSync(file);
}
