import type { PoolClient } from 'pg';
import type { KeyedDownload } from '../src/domain/decide-usage.ts';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import type { ParsedEvent } from '../src/domain/recorded-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';

/** The newest download of each idempotency key, whatever its billing period: table `idempotency_keys`. */

const columns = ['token', 'overage', 'fingerprint', 'stream', 'revision', 'confirmed', 'voided'] as const;

/**
 * The select list of `keyedDownloadFromText`. In a closed period nothing can be voided any more: a download of one is as good
 * as confirmed, without a look at its stream.
 *
 * @param alias of the table in the query
 */
export const keyedDownloadColumns = (alias: string): string[] =>
  columns.map((column) =>
    column === 'confirmed'
      ? `${alias}.confirmed or exists (select from credits p where p.stream = ${alias}.stream and p.phase = 'closed')`
      : `${alias}.${column}`,
  );

/**
 * @param values as Postgres writes them, in the order of `keyedDownloadColumns`
 * @returns undefined where the query found no download
 */
export function keyedDownloadFromText(values: readonly (string | null)[]): KeyedDownload | undefined {
  const [token, overage, fingerprint, stream, revision, confirmed, voided] = values;
  if (!token || !fingerprint || !stream) return undefined;
  return {
    token,
    overage: overage === 't',
    fingerprint,
    stream,
    revision: Number(revision),
    confirmed: confirmed === 't',
    voided: voided === 't',
  };
}

interface Row extends KeyedDownload {
  account_id: string;
  key_hash: string;
}

/** A batch leaves one row of each key, and marks rows of earlier batches that were confirmed or voided. */
export async function applyToIdempotencyKeys(
  events: readonly ParsedEvent<UsageEvent>[],
  client: PoolClient,
): Promise<void> {
  const rows = new Map<string, Row>();
  const byToken = new Map<string, Row>();
  const settled = { confirmed: [] as string[], voided: [] as string[] };
  for (const { event, stream, revision } of events) {
    if (event.type === 'DownloadQueued' && event.data.idempotency) {
      const { token, overage, idempotency } = event.data;
      const { key_hash, fingerprint } = idempotency;
      const { accountId: account_id } = periodOfUsageStream(stream);
      const row = {
        account_id,
        key_hash,
        token,
        overage,
        fingerprint,
        stream,
        revision,
        confirmed: false,
        voided: false,
      };
      rows.set(`${account_id} ${key_hash}`, row);
      byToken.set(token, row);
    } else if (event.type === 'DownloadConfirmed' || event.type === 'DownloadVoided') {
      const as = event.type === 'DownloadConfirmed' ? 'confirmed' : 'voided';
      const row = byToken.get(event.data.token);
      if (row) row[as] = true;
      else settled[as].push(event.data.token);
    }
  }
  for (const as of ['confirmed', 'voided'] as const) {
    if (settled[as].length > 0)
      await client.query(`update idempotency_keys set ${as} = true where token = any($1)`, [settled[as]]);
  }
  if (rows.size > 0) await writeRows([...rows.values()], client);
}

async function writeRows(rows: readonly Row[], client: PoolClient): Promise<void> {
  const all = ['account_id', 'key_hash', ...columns].join(', ');
  await client.query(
    `insert into idempotency_keys (${all})
     select ${all} from jsonb_populate_recordset(null::idempotency_keys, $1)
     on conflict (account_id, key_hash) do update set
       ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [JSON.stringify(rows)],
  );
}
