import type { PoolClient } from 'pg';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import type { KeyedDownload } from '../src/domain/decide-usage.ts';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { type NotBelieved, notBelieved } from './credits-macs.ts';
import type { Queryable } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/** The newest download of each idempotency key, whatever its billing period: table `idempotency_keys`. */

const columns = ['token', 'overage', 'fingerprint', 'stream', 'revision', 'confirmed', 'voided'] as const;

/**
 * The select list of `keyedDownloadFromText`. A closed period voids nothing, so its downloads count as confirmed without a read
 * of its stream.
 *
 * @param alias of the table in the query
 */
export const keyedDownloadColumns = (alias: string): string[] => [
  ...['account_id', 'key_hash', ...columns, 'mac'].map((column) => `${alias}.${column}`),
  `exists (select from credits p where p.stream = ${alias}.stream and p.phase = 'closed')`,
];

/**
 * @param values as Postgres writes them, in the order of `keyedDownloadColumns`
 * @returns undefined if the query found no download
 */
export function keyedDownloadFromText(
  values: readonly (string | null)[],
  macs: RowMacs,
): { accountId: string; keyHash: string; download: KeyedDownload | NotBelieved } | undefined {
  const [accountId, keyHash, token, overage, fingerprint, stream, revision, confirmed, voided, mac, isClosed] = values;
  if (!accountId || !keyHash || !token || !fingerprint || !stream) return undefined;
  const row: Row = {
    account_id: accountId,
    key_hash: keyHash,
    token,
    overage: overage === 't',
    fingerprint,
    stream,
    revision: Number(revision),
    confirmed: confirmed === 't',
    voided: voided === 't',
  };
  if (!isGenuine(row, mac ?? null, macs)) return { accountId, keyHash, download: notBelieved };
  const { account_id: _account, key_hash: _key, ...download } = row;
  return { accountId, keyHash, download: { ...download, confirmed: download.confirmed || isClosed === 't' } };
}

interface Row extends KeyedDownload {
  account_id: string;
  key_hash: string;
}

const textOf = (row: Row): string =>
  JSON.stringify([row.account_id, row.key_hash, ...columns.map((column) => row[column])]);

const isGenuine = (row: Row, mac: string | null, macs: RowMacs): boolean =>
  macs.verifies({ table: 'idempotency_keys', name: `${row.account_id} ${row.key_hash}`, text: textOf(row), mac });

/** The download of one key of an account, as far as the read model knows. */
export async function readKeyedDownload(
  client: Queryable,
  { accountId, keyHash, macs }: { accountId: string; keyHash: string; macs: RowMacs },
): Promise<KeyedDownload | NotBelieved | undefined> {
  const { rows } = await client.query<(string | null)[]>({
    text: `select ${keyedDownloadColumns('k').join(', ')} from idempotency_keys k where account_id = $1 and key_hash = $2`,
    // As they are written, which keyedDownloadFromText reads.
    types: { getTypeParser: () => String },
    values: [accountId, keyHash],
    rowMode: 'array',
  });
  return rows[0] && keyedDownloadFromText(rows[0], macs)?.download;
}

/** A batch writes one row per key, and marks rows of earlier batches whose downloads were confirmed or voided. */
export async function applyToIdempotencyKeys(
  events: readonly ParsedEvent<UsageEvent>[],
  client: PoolClient,
  macs: RowMacs,
): Promise<void> {
  const rows = new Map<string, Row>();
  const byToken = new Map<string, Row>();
  const settled = new Map<string, 'confirmed' | 'voided'>();
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
      rows.set(keyOf(row), row);
      byToken.set(token, row);
    } else if (event.type === 'DownloadConfirmed' || event.type === 'DownloadVoided') {
      const as = event.type === 'DownloadConfirmed' ? 'confirmed' : 'voided';
      const row = byToken.get(event.data.token);
      if (row) row[as] = true;
      else settled.set(event.data.token, as);
    }
  }
  if (settled.size > 0) {
    // A row that the batch itself writes for a key is newer.
    for (const row of await readSettled(settled, client, macs)) if (!rows.has(keyOf(row))) rows.set(keyOf(row), row);
  }
  const signed = [...rows.values()].map((row) => ({ ...row, mac: macs.sign('idempotency_keys', textOf(row)) }));
  await upsertRows(client, 'idempotency_keys', { key: ['account_id', 'key_hash'], rows: signed });
}

const keyOf = ({ account_id, key_hash }: Row) => `${account_id} ${key_hash}`;

/** Rows of earlier batches with their new marks. A row that is not believed stays unchanged, and is not signed. */
async function readSettled(
  settled: ReadonlyMap<string, 'confirmed' | 'voided'>,
  client: PoolClient,
  macs: RowMacs,
): Promise<Row[]> {
  const { rows } = await client.query<Omit<Row, 'revision'> & { revision: string; mac: string | null }>(
    `select account_id, key_hash, ${columns.join(', ')}, mac from idempotency_keys where token = any($1)`,
    [[...settled.keys()]],
  );
  return rows.flatMap(({ mac, ...read }) => {
    const row = { ...read, revision: Number(read.revision) };
    const as = settled.get(row.token);
    return as && isGenuine(row, mac, macs) ? [{ ...row, [as]: true }] : [];
  });
}
