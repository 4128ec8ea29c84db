import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { keyText, uuidOfKeyHash } from '../../projections/api-keys.ts';
import { creditsColumns, type CreditsRow, signedUsageOf } from '../../projections/credits.ts';
import { CreditsMacs } from '../../projections/credits-macs.ts';
import { newId } from '../../src/system/clock-and-chance.ts';
import { testMacs } from './read-models-under-test.ts';

export interface TestKey {
  keyHash: string;
  keyId: string;
  accountId: string;
}

/** A key as the projection inserts it. */
export async function insertKey(
  pool: Pool,
  { hourlyLimit = 3, revoked = false, accountId = newId('acc') } = {},
): Promise<TestKey> {
  const key = { keyHash: randomBytes(32).toString('hex'), keyId: newId('key'), accountId };
  await pool.query(
    `insert into api_key_window (hash, key_id, account_id, hourly_limit, revoked, mac)
     values (left($1, 32)::uuid, $2, $3, $4, $5, $6)`,
    [
      key.keyHash,
      key.keyId,
      accountId,
      hourlyLimit,
      revoked,
      testMacs.sign('api_key_window', keyText(uuidOfKeyHash(key.keyHash), key)),
    ],
  );
  return key;
}

/** As if so much time had passed since all that was admitted: the row's own clock is put back. */
export async function letTimePass(pool: Pool, { keyId }: TestKey, passedMs: number): Promise<void> {
  await pool.query("update api_key_window set base = base - $2 * interval '1 millisecond' where key_id = $1", [
    keyId,
    passedMs,
  ]);
}

/** As if the key had been used so many milliseconds ago, each time. */
export async function pretendAdmitted(pool: Pool, { keyId }: TestKey, agoMs: readonly number[]): Promise<void> {
  const firstMs = Math.max(...agoMs, 0);
  await pool.query(
    `update api_key_window set base = clock_timestamp() - $2 * interval '1 millisecond', admitted_ms = $3
     where key_id = $1`,
    [keyId, firstMs, agoMs.map((ago) => firstMs - ago)],
  );
}

/** The counted requests, in milliseconds from the row's base; how long ago each was, and how old the base is. */
export async function readWindow(
  pool: Pool,
  { keyId }: TestKey,
): Promise<{ admittedMs: number[]; agoSeconds: number[]; baseSeconds: number }> {
  const { rows } = await pool.query<{ admitted_ms: number[]; base_ms: string }>(
    `select admitted_ms, extract(epoch from clock_timestamp() - base) * 1000 as base_ms
     from api_key_window where key_id = $1`,
    [keyId],
  );
  const { admitted_ms: admittedMs, base_ms: base } = rows[0]!;
  const baseMs = Number(base);
  return {
    admittedMs,
    agoSeconds: admittedMs.map((instant) => Math.round((baseMs - instant) / 1000)),
    baseSeconds: Math.round(baseMs / 1000),
  };
}

/** A job's row as far as admission cares. */
export async function insertJob(pool: Pool, token: string, accountId: string): Promise<void> {
  await pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
       status, revision, attempts, queued_at, waiting_since)
     values ($1, $2, 'usage', 2, 'sample', 'v', 'http://v', 'video', 'best', false, 'queued', -1, 0,
       '2026-11-14T12:00:00Z', '2026-11-14T12:00:00Z')`,
    [token, accountId],
  );
}

/** A credits row of a month of 2026, with nothing used. */
export async function insertCredits(pool: Pool, accountId: string, month: number): Promise<void> {
  const dayOf = (number: number) => new Date(Date.UTC(2026, number - 1, 1)).toISOString();
  await pool.query(
    `insert into credits values ($1, $2, $3, $4, 0, repeat('a', 64), $2, 'open', 1, 'dev_100', $5, 0, 0, 0, 0, 0, null)`,
    [accountId, dayOf(month), dayOf(month + 1), `usage-${accountId}-2026${String(month).padStart(2, '0')}01`, '{}'],
  );
  await signCredits(pool, accountId);
}

/** As the projector would have, had it written these rows. */
export async function signCredits(pool: Pool, accountId: string): Promise<void> {
  const { rows } = await pool.query<CreditsRow>(`select ${creditsColumns('c')} from credits c where account_id = $1`, [
    accountId,
  ]);
  for (const row of rows) {
    const mac = new CreditsMacs(testMacs).sign(signedUsageOf(row).snapshot);
    await pool.query('update credits set mac = $2 where stream = $1', [row.stream, mac]);
  }
}
