import { sleep } from '../../src/async/sleep.ts';
import type { TurnWanted } from '../../src/ports/job-turns.ts';
import type { DownloadFailure, VideoSource } from '../../src/ports/videos.ts';
import { createChooser } from '../../src/worker/choose-job.ts';
import { runWorker } from '../../src/worker/pull-jobs.ts';
import { portOf } from './process.ts';
import { readTurn } from './replaced-queries.ts';
import { attemptTimeoutSeconds, logger, maxJobsPerAccount, ServiceProcess } from './service.ts';
import type { World } from './world.ts';

const beatEveryMs = 10_000;

/** A process of the role `worker`: the taking of jobs, their claims and their steps are the service's. */
export class WorkerProcess extends ServiceProcess {
  /** Ends it as a shutdown does: its jobs are queued again. */
  readonly stop: () => void;

  constructor(name: string, world: World) {
    super(name, world);
    const { store, now, newUuid, serviceParts } = this;
    const port = <Port extends object>(of: Port) => portOf(this, of, world.network.atCall);
    const workerId = this.newId('wrk');
    const limits = { maxJobsPerAccount, maxJobsPerPlatform: 9 };
    const parts = { workerId, store, now, newUuid, logger, serviceParts };
    const running = this.run(() => {
      const beat = () =>
        this.postgres.statement(({ heartbeats }) => heartbeats.set(workerId, performance.now())).catch(() => undefined);
      void beat();
      setInterval(() => void beat(), beatEveryMs);
      return runWorker({
        ...parts,
        queue: port(world.queue),
        slots: 2,
        chooser: createChooser({
          ...parts,
          ...limits,
          readTurn: (wanted: TurnWanted) => readTurn(this.pool, wanted),
          firstTurn: '',
        }),
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
      const file = {
        name: 'media.mp4',
        mime: 'video/mp4',
        sizeBytes: 9,
        sha256: '0'.repeat(64),
        durationSeconds: 1,
        title: '',
      };
      return { ok: true, path: '/nowhere/media.mp4', ...file };
    },
  };
}
