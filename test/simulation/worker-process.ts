import { createChooser } from '../../src/worker/choose-job.ts';
import { runWorker } from '../../src/worker/pull-jobs.ts';
import { sleep } from '../../src/async/sleep.ts';
import type { Turn, TurnWanted } from '../../src/ports/job-turns.ts';
import type { DownloadFailure, VideoSource } from '../../src/ports/videos.ts';
import type { Postgres } from './postgres.ts';
import { portOf } from './process.ts';
import type { JobRow } from './read-models.ts';
import { ServiceProcess, attemptTimeoutSeconds, logger, maxJobsPerAccount } from './service.ts';
import type { World } from './world.ts';

const beatEveryMs = 10_000;

/** A process of the role `worker`: the taking of jobs, their claims and their steps are the service's. */
export class WorkerProcess extends ServiceProcess {
  /** Ends it as a shutdown does: its jobs are queued again. */
  readonly stop: () => void;

  constructor(name: string, world: World) {
    super(name, world);
    const { store, now, newUuid, outages } = this;
    const port = <Port extends object>(of: Port) => portOf(this, of, world.network.atCall);
    const workerId = `wrk_${newUuid().replaceAll('-', '')}`;
    const readTurn = (wanted: TurnWanted) => this.postgres.statement((postgres) => turnOf(postgres, wanted));
    const limits = { maxJobsPerAccount, maxJobsPerPlatform: 9 };
    const parts = { workerId, store, now, newUuid, logger, outages };
    const running = this.run(() => {
      const beat = () =>
        this.postgres.statement(({ heartbeats }) => heartbeats.set(workerId, performance.now())).catch(() => undefined);
      void beat();
      setInterval(() => void beat(), beatEveryMs);
      return runWorker({
        ...parts,
        queue: port(world.queue),
        slots: 2,
        chooser: createChooser({ ...parts, ...limits, readTurn, firstTurn: '' }),
        disk: { hasRoom: () => Promise.resolve(true) },
        source: port(sourceOf(world)),
        files: port(world.files),
        progress: { report: () => undefined },
        attemptTimeoutMs: attemptTimeoutSeconds * 1_000,
        workDirectory: '/nowhere',
        kindOf: () => 'video',
      });
    });
    this.stop = () => {
      world.tell(name, 'is stopped');
      void this.run(() => running.close()).then(() => this.kill());
    };
  }
}

/** A platform whose films are downloaded within seconds, or fail by somebody's fault. */
function sourceOf({ network: { happens, delayMs }, randomness, shareOfFailingFilms: failing }: World): VideoSource {
  const failures: [DownloadFailure, ...DownloadFailure[]] = [
    { ok: false, reason: 'private_video', fault: 'video', detail: 'simulated' },
    { ok: false, reason: 'platform_error', fault: 'video', detail: 'simulated' },
    { ok: false, reason: 'unsupported_media', fault: 'service', detail: 'simulated' },
    { ok: false, reason: 'internal_error', fault: 'service', detail: 'simulated' },
  ];
  const films = randomness.of('films');
  return {
    probe: () => Promise.reject(new Error('workers are not asked for metadata here')),
    download: async (_video, _wanted, { signal }) => {
      await sleep(happens('download_late') ? delayMs(5_000, 90_000) : delayMs(50, 3_000), signal);
      if (happens('download_throws')) throw new Error('the downloader has crashed');
      if (films.chance(failing)) return films.pick(failures);
      const file = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 9, sha256: '0'.repeat(64), durationSeconds: 1 };
      return { ok: true, path: '/nowhere/media.mp4', ...file };
    },
  };
}

/** As `readTurn` of projections/jobs-in-turn.ts: the account with the fewest jobs in progress, then the oldest of its jobs. */
function turnOf({ readModels }: Postgres, wanted: TurnWanted): Turn {
  const { workerId, now, own, settled, named, fullPlatforms } = wanted;
  const rows = [...readModels.jobs.values()];
  const isHeld = ({ job }: JobRow) =>
    (job.status === 'claimed' || job.status === 'running') && job.claim?.workerId !== workerId;
  const inProgress = (accountId: string) =>
    rows.filter((row) => row.accountId === accountId && isHeld(row)).length + (own[accountId] ?? 0);
  const waiting = rows.filter(({ job }) => job.status === 'queued');
  const ids = [...new Set(waiting.map(({ accountId }) => accountId))].sort();
  const inTurn = [...ids.filter((id) => id > wanted.after), ...ids.filter((id) => id <= wanted.after)];
  const accounts = inTurn.map((account_id) => ({ account_id, in_progress: inProgress(account_id) }));
  const isFree = ({ queued, job, revision }: JobRow) =>
    (job.notBefore === null || job.notBefore <= now) &&
    !fullPlatforms.includes(queued.platform) &&
    !settled.includes(`${queued.token}:${String(revision)}`);
  const candidates = accounts
    .filter(({ in_progress }) => in_progress < wanted.maxJobsPerAccount)
    .flatMap((account) => {
      const free = waiting.filter((row) => row.accountId === account.account_id && isFree(row));
      const [oldest] = free.sort((one, other) => (one.waitingSince < other.waitingSince ? -1 : 1));
      return oldest ? [{ account, oldest }] : [];
    });
  const [first] = candidates.sort((one, other) => one.account.in_progress - other.account.in_progress);
  const row = named && readModels.jobs.get(named.token);
  return {
    accounts,
    next: first
      ? {
          ...{ token: first.oldest.queued.token, usage_stream: first.oldest.queued.stream },
          ...{ usage_revision: first.oldest.queued.revision, platform: first.oldest.queued.platform },
          ...{ revision: first.oldest.revision, ...first.account },
        }
      : null,
    named: named
      ? {
          in_progress: inProgress(named.accountId),
          row: row ? { status: row.job.status, revision: row.revision, not_before: row.job.notBefore } : null,
        }
      : null,
  };
}
