import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { withDeadline } from '../../async/deadline.ts';
import { servicePart, type ServiceParts } from '../../ports/service-parts.ts';

const beatEveryMs = 10_000;
/** A beat does not wait for a disk that does not answer. */
const aboutMs = 2_000;

/**
 * Records in Postgres, by its clock, that a worker is alive. Its claims hold for as long.
 *
 * @param about what the worker says about itself at each beat, for people who look: slots, guards, versions, host, what it lacks
 */
export async function startHeartbeat(
  pool: Pool,
  {
    workerId,
    about,
    ...reporting
  }: { workerId: string; about: () => Promise<object>; logger: Logger; serviceParts?: ServiceParts },
): Promise<{ stop: () => Promise<void> }> {
  const part = servicePart(reporting, 'the heartbeat');
  const beat = async (): Promise<void> => {
    await pool.query(
      `insert into worker_heartbeats (worker_id, about) values ($1, $2)
       on conflict (worker_id) do update set beaten_at = clock_timestamp(), about = excluded.about`,
      [workerId, await withDeadline(about(), aboutMs, () => ({}))],
    );
  };
  await beat();
  const timer = setInterval(() => {
    beat().then(
      () => part.works(),
      (error: unknown) => part.failed('a beat', error),
    );
  }, beatEveryMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await pool.query('delete from worker_heartbeats where worker_id = $1', [workerId]).catch(() => undefined);
    },
  };
}

/** Workers that have beaten within the last minutes; a starting one counts from its first beat. */
export async function listLivingWorkers(pool: Pool): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ worker_id: string }>(
    "select worker_id from worker_heartbeats where beaten_at > clock_timestamp() - interval '10 minutes'",
  );
  return new Set(rows.map(({ worker_id: workerId }) => workerId));
}
