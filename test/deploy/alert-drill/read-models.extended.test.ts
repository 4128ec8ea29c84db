import type { Client } from 'pg';
import { afterAll, describe, it } from 'vitest';
import { browserOfFile } from '../../support/browser.ts';
import { call } from '../../support/client.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startNatsCluster } from '../nats-cluster.ts';
import { allOf, clients, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

const projection = 'usage_and_jobs';
const monthSeconds = 32 * 86_400;

describe.runIf(isDrill)('faults of read models', () => {
  const browser = browserOfFile();
  const natsFiles = temporaryDirectoryOfFile();
  let nats: Awaited<ReturnType<typeof startNatsCluster>>;
  const service = watchedService('read-models', async () => {
    nats = await startNatsCluster(natsFiles);
    return { NATS_URL: nats.url, NATS_REPLICAS: '3' };
  });
  afterAll(() => nats.stop());
  const { raises, start, running, queueMany } = service;
  const seen = (expression: string, timeoutMs = 600_000) =>
    waitFor(() => service.prometheus.valueOf(expression), { what: expression, timeoutMs, pollMs: 1_000 });

  async function lockReaders(lock: Client, token: string): Promise<void> {
    const { url, account } = service;
    const end = clients(20, () => call(url, `/video/status?token=${token}`, { key: account.key }));
    await lock.query('savepoint readable');
    const burns = ['PollsSlowFastBurn', 'PollsSlowSlowBurn'];
    await raises('clients poll while a lock in Postgres stops readers', burns, async () => {
      // The projector may hold what this waits for, and wait in turn: its statement gives up first.
      await lock.query(`set local deadlock_timeout = '10min'`);
      await lock.query('lock table jobs in access exclusive mode');
      await seen('reeltally:poll_slow:ratio_3d > 0.012');
      await seen('ALERTS{alertname="PollsSlowFastBurn",alertstate="firing"}');
      await lock.query('rollback to savepoint readable');
      await end();
    });
  }

  it('raise their alerts', { timeout: drillTimeoutMs }, async () => {
    const [token = ''] = await queueMany(1, 'private');
    const lock = await service.connect();
    await lock.query('begin');
    const locked = Promise.withResolvers<undefined>();
    const stuck = [
      ['ReadModelStuck', { projection }],
      ['ReadModelBehind', { projection }],
    ] as const;
    await allOf([
      raises('one of three servers of NATS stops', [['NodeMissing', { server: 'nats' }]], () =>
        nats.serverOf('nats-2').stop(),
      ),
      raises('a lock in Postgres stops a read model', stuck, async () => {
        await lock.query('lock table jobs in exclusive mode');
        await queueMany(400, 'private');
        locked.resolve(undefined);
      }),
      locked.promise.then(() => lockReaders(lock, token)),
      locked.promise.then(() =>
        raises('a billing period ends meanwhile', ['PeriodsNotClosed'], async () => {
          await running('dispatcher').stop();
          await service.installation.allowShiftedClock();
          await start('dispatcher', 'dispatcher', { REELTALLY_CLOCK_OFFSET_SECONDS: `${monthSeconds}` });
        }),
      ),
    ]);
    await lock.end();
    await service.draw(browser);
  });
});
