import type { Pool } from 'pg';
import type { Logger } from 'pino';

const beatEveryMs = 10_000;

/** Tells, by a row of Postgres's clock, that a worker is alive: while it is, its claims hold. */
export async function startHeartbeat(
  pool: Pool,
  { workerId, logger }: { workerId: string; logger: Logger },
): Promise<{ stop: () => Promise<void> }> {
  const beat = async (): Promise<void> => {
    await pool.query(
      `insert into worker_heartbeats (worker_id) values ($1)
       on conflict (worker_id) do update set beaten_at = clock_timestamp()`,
      [workerId],
    );
  };
  await beat();
  const timer = setInterval(() => {
    beat().catch((error: unknown) => {
      logger.warn({ err: error }, 'a heartbeat was missed');
    });
  }, beatEveryMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await pool.query('delete from worker_heartbeats where worker_id = $1', [workerId]).catch(() => undefined);
    },
  };
}
