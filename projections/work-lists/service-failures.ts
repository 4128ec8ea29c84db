import type { Pool } from 'pg';

/**
 * The dispatcher's list of charges to give back: table `service_failures`, one row for each download that the service has failed
 * and the dispatcher has not processed. A row is only a hint: the log decides what is given back.
 */
export async function noteServiceFailures(pool: Pool, tokens: readonly string[]): Promise<void> {
  if (tokens.length === 0) return;
  await pool.query('insert into service_failures (token) select unnest($1::text[]) on conflict do nothing', [tokens]);
}

/** The rows that have waited longest. @param except tokens to leave out for now */
export async function listServiceFailures(
  pool: Pool,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<string[]> {
  const { rows } = await pool.query<{ token: string }>(
    'select token from service_failures where token <> all($1) order by noted_at, token limit $2',
    [except, limit],
  );
  return rows.map(({ token }) => token);
}

export async function forgetServiceFailure(pool: Pool, token: string): Promise<void> {
  await pool.query('delete from service_failures where token = $1', [token]);
}
