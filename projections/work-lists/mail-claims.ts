import type { Pool } from 'pg';

/** Which process sends a mail, and what the mail server has taken: table `mail_claims`. It is stored nowhere else. */

/**
 * Claims a mail before it is sent, so that only one of two dispatchers sends it. A mail that the server has taken may be claimed
 * by any process: it is only recorded, which may happen twice.
 *
 * @param by name of this process
 * @param staleSeconds age at which the claim of another process is taken over: longer than any sending takes
 * @returns the claim, and whether the mail server has taken the mail; undefined if another process holds the claim
 */
export async function claimMail(
  pool: Pool,
  mailId: string,
  { by, staleSeconds }: { by: string; staleSeconds: number },
): Promise<{ taken: boolean } | undefined> {
  const { rows } = await pool.query<{ taken: boolean }>(
    `insert into mail_claims as claimed (mail_id, claimed_by) values ($1, $2)
     on conflict (mail_id) do update set claimed_by = excluded.claimed_by, claimed_at = clock_timestamp()
     where claimed.claimed_by = excluded.claimed_by
        or claimed.claimed_at < clock_timestamp() - $3 * interval '1 second'
        or claimed.taken_at is not null
     returning taken_at is not null as taken`,
    [mailId, by, staleSeconds],
  );
  return rows[0];
}

/** Notes that the mail server has taken the mail, so no process sends it again while the log is away. */
export async function noteTaken(pool: Pool, mailId: string): Promise<void> {
  await pool.query('update mail_claims set taken_at = clock_timestamp() where mail_id = $1 and taken_at is null', [
    mailId,
  ]);
}

/** Called once the log has the mail: from then on the log answers any process that claims it. */
export async function forgetClaim(pool: Pool, mailId: string): Promise<void> {
  await pool.query('delete from mail_claims where mail_id = $1', [mailId]);
}
