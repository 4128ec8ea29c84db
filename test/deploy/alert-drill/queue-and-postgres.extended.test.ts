import { describe, it } from 'vitest';
import { launchNatsServer } from '../../../src/embedded/nats-server.ts';
import { launchPostgres } from '../../../src/embedded/postgres/launch.ts';
import { browserOfFile } from '../../support/browser.ts';
import { restartable, type RestartableServer } from '../../support/restartable-server.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { allOf, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

describe.runIf(isDrill)('faults of NATS and Postgres', () => {
  const browser = browserOfFile();
  const [postgresData, natsData] = [temporaryDirectoryOfFile(), temporaryDirectoryOfFile()];
  let postgres: RestartableServer;
  let nats: RestartableServer;
  const service = watchedService('queue', async () => {
    postgres = await restartable((at) => launchPostgres({ dataDirectory: postgresData, ...at }));
    nats = await restartable((at) => launchNatsServer({ dataDirectory: natsData, ...at }));
    return { DATABASE_URL: postgres.url, NATS_URL: nats.url, MAX_JOBS_PER_ACCOUNT: '64' };
  });
  const { raises, queueMany } = service;

  async function stopPostgres(): Promise<void> {
    await raises('Postgres stops', [['ServerAway', { server: 'postgres' }], 'NoProjector', 'NoDispatcher'], () =>
      postgres.stop(),
    );
    await postgres.start();
    const { url, prometheus } = service;
    const isBack = async () => (await fetch(`${url}/readyz`)).ok && !(await prometheus.isFiring('NoDispatcher'));
    await waitFor(isBack, { what: 'Postgres to be back', timeoutMs: 180_000, pollMs: 1_000 });
  }

  it('raise their alerts', { timeout: drillTimeoutMs }, async () => {
    const away = [['ServerAway', { server: 'nats' }], 'JobsWait', ['GaugesMissing', { group: 'queue' }]] as const;
    await raises('NATS stops', away, async () => {
      await nats.stop();
      await queueMany(120, 'private');
    });
    const late = ['JobsStartLateFastBurn', 'JobsStartLateSlowBurn'];
    let stopped = Promise.resolve();
    await raises('NATS is back, and jobs begin that have waited for minutes', late, async () => {
      await nats.start();
      const areLate = () => service.prometheus.valueOf('reeltally:job_starts_late:ratio_3d > 0.01');
      await waitFor(areLate, { what: 'late jobs', timeoutMs: 600_000, pollMs: 1_000 });
      // The rules look back over hours, whatever else happens.
      stopped = stopPostgres();
    });
    await allOf([stopped]);
    await service.draw(browser);
  });
});
