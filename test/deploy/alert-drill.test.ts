import { renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';
import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { browserOfFile } from '../support/browser.ts';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { deadUrl, startEventStore } from '../support/event-store.ts';
import { startInstallation } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { restartable } from '../support/restartable.ts';
import { startProcess } from '../support/service.ts';
import type { Environment, ServiceProcess } from '../support/service.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { openEngine, rootWithout } from '../support/without-namespaces.ts';
import { dashboards } from '../../deploy/grafana/dashboards.ts';
import { dashboardPage } from './dashboard-page.ts';
import { startPrometheus } from './prometheus.ts';
import type { Prometheus } from './prometheus.ts';

/**
 * Makes faults happen on a running service, and waits for their alerts: `npm run drill:alerts` (40 minutes; needs root and
 * Debian's package `prometheus`). The table in docs/watching.md is what it prints. Rules that would take hours are shortened.
 */
const shortened = [
  ['reeltally_audit_behind_seconds) > 86400', 'reeltally_audit_behind_seconds) > 60'],
  ['reeltally_oldest_waiting_mail_seconds) > 3600', 'reeltally_oldest_waiting_mail_seconds) > 60'],
  ['reeltally_oldest_overdue_file_seconds) > 600', 'reeltally_oldest_overdue_file_seconds) > 60'],
  ['increase(reeltally_claims_expired_total[1h])) > 5', 'increase(reeltally_claims_expired_total[1h])) > 0'],
  ['reeltally_engine_age_days) > 60\n        for: 1h', 'reeltally_engine_age_days) > 60\n        for: 1m'],
  [
    'reeltally_oldest_unclaimed_job_seconds) > 60\n        for: 15m',
    'reeltally_oldest_unclaimed_job_seconds) > 60\n        for: 1m',
  ],
] as const;

/** Where pictures of the dashboards go. */
const pictures = process.env['DRILL_PICTURES'] ?? tmpdir();

const roles = ['projector', 'dispatcher', 'worker', 'api'] as const;
type Role = (typeof roles)[number];

describe.runIf(process.env['ALERT_DRILL'] === '1')('each fault raises its alert', () => {
  const directories = Array.from({ length: 5 }, temporaryDirectoryOfFile) as [string, string, string, string, string];
  const [postgresData, natsData, logData, watching, faulty] = directories;
  const browser = browserOfFile();
  const started: ServiceProcess[] = [];
  const rows: string[] = [];
  const ports = new Map<string, number>();
  const processes = new Map<Role, ServiceProcess>();
  let installation: Awaited<ReturnType<typeof startInstallation>>;
  let servers: { postgres: Server; nats: Server; eventStore: Awaited<ReturnType<typeof startEventStore>> };
  let prometheus: Prometheus;
  let url: string;
  let stopAsking: (() => Promise<void>) | undefined;
  let account: { accountId: string; key: string };

  const hostOf = (name: string) => `127.0.0.1:${ports.get(name)}`;
  const targets = (...names: string[]) => Object.fromEntries(names.map((name) => [name, [hostOf(name)]]));
  const sql = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client(installation.environment.DATABASE_URL);
    await client.connect();
    await client.query(text, values);
    return client;
  };
  const start = async (
    name: string,
    role: Role,
    more: Environment = {},
    startedBy?: Parameters<typeof startProcess>[2],
  ) => {
    const port = String(ports.get(name));
    const process = await startProcess(
      role,
      { ...installation.environment, HEALTH_PORT: port, ...more, ...(role === 'api' && { PORT: port }) },
      startedBy,
    );
    started.push(process);
    return process;
  };
  const queueMany = async (count: number, item: string) => {
    const tokens = [];
    for (let index = 0; index < count; index += 1)
      tokens.push((await queue(url, account.key, { url: installation.sampleUrl(item) })).request_token);
    return tokens;
  };
  /** Makes a fault, and waits until its alerts fire. */
  const raises = async (
    cause: string,
    alerts: (string | [string, Record<string, string>])[],
    act: () => Promise<unknown>,
  ) => {
    const named = alerts.map((alert) => (typeof alert === 'string' ? ([alert, {}] as const) : alert));
    for (const [name, labels] of named) {
      const isOver = async () => !(await prometheus.isFiring(name, labels));
      await waitFor(isOver, { what: `the end of ${name} after an earlier fault`, timeoutMs: 600_000, pollMs: 1_000 });
    }
    const startedMs = performance.now();
    await act();
    await Promise.all(
      named.map(async ([name, labels]) => {
        await waitFor(() => prometheus.isFiring(name, labels), {
          what: `${name} after ${cause}`,
          timeoutMs: 900_000,
          pollMs: 1_000,
        });
        const row = `| ${cause} | \`${name}\` | ${Math.round((performance.now() - startedMs) / 1000)} |`;
        console.log(row);
        rows.push(row);
      }),
    );
  };
  const isSeen = async (name: string) => {
    const isUp = async () => (await prometheus.valueOf(`up{instance="${hostOf(name)}"}`)) === '1';
    await waitFor(isUp, { what: `Prometheus to see ${name}`, timeoutMs: 120_000 });
  };
  const startLimitedApi = () => start('api2', 'api', {}, (command) => ['prlimit', '--nofile=300:300', ...command]);
  /** A worker whose yt-dlp says that it is years old, and that has 64 MiB. It takes no jobs. */
  const startOldWorker = async () => {
    const ytDlp = join(faulty, 'yt-dlp');
    writeFileSync(ytDlp, '#!/bin/sh\necho 2020.01.01\n', { mode: 0o755 });
    const disk = await mountSmallDisk(64);
    const own = { YTDLP_PATH: ytDlp, WORK_DIRECTORY: disk.directory, MIN_FREE_DISK_MIB: '1000' };
    await start('worker3', 'worker', own, disk.inside);
  };
  const startUnguardedWorker = async () => {
    // The programs of the run are in a folder that other users may not pass.
    const ownPrograms = ['env', '-u', 'YTDLP_PATH', '-u', 'FFMPEG_PATH', '-u', 'FFPROBE_PATH'];
    const takesNoJobs = { MIN_FREE_DISK_MIB: '1000000000' };
    await start('worker2', 'worker', { ...openEngine(), ...takesNoJobs }, (command) =>
      rootWithout([...ownPrograms, ...command]),
    );
  };
  const forgeLedgerRow = async (accountId: string) => {
    const forged = `jsonb_build_object('event_id', gen_random_uuid(), 'revision', 1000, 'cents', 7)`;
    const from = 'from overage_ledger ledger where account_id = $1 limit 1';
    const row = `select (jsonb_populate_record(ledger, ${forged})).* ${from}`;
    await (await sql(`insert into overage_ledger ${row}`, [accountId])).end();
  };
  const openConnections = async (to: string) => {
    const { hostname, port } = new URL(to);
    const open = () => connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
    const sockets = Array.from({ length: 60 }, open);
    await waitFor(() => sockets.some(({ closed }) => closed), { what: 'a connection to be dropped' });
    for (const socket of sockets) socket.destroy();
  };
  /** Clients that ask all the while. */
  const clients = (count: number, ask: () => Promise<unknown>) => {
    const asking = { isOver: false };
    const all = Array.from({ length: count }, async () => {
      while (!asking.isOver) {
        await ask().catch(() => undefined);
        await sleep(200);
      }
    });
    return async () => {
      asking.isOver = true;
      await Promise.all(all);
    };
  };

  beforeAll(async () => {
    const [postgres, nats, eventStore] = await Promise.all([
      restartable((at) => launchPostgres({ dataDirectory: postgresData, ...at })),
      restartable((at) => launchNatsServer({ dataDirectory: natsData, ...at })),
      startEventStore({ dataDirectory: logData }),
    ]);
    servers = { postgres, nats, eventStore };
    installation = await startInstallation({
      ...{ EVENTSTORE_URL: eventStore.url, DATABASE_URL: postgres.url, NATS_URL: nats.url },
      PLANS_FILE: planFile({ hourly_limit: 10_000, fee_cents: 1_900 }),
      FILES_DIRECTORY: join(faulty, 'files'),
      ...{ WORKER_SLOTS: '2', MAX_JOBS_PER_ACCOUNT: '64', ATTEMPT_TIMEOUT_SECONDS: '20', FILE_RETENTION_SECONDS: '60' },
      ...{ SMTP_URL: (await deadUrl()).replace(/^esdb(.*)\?.*$/, 'smtp$1'), MAIL_FROM: 'billing@reeltally.test' },
    });
    for (const name of [...roles, 'worker2', 'worker3', 'api2', 'projector2']) ports.set(name, await freePort());
    for (const role of roles) processes.set(role, await start(role, role));
    ({ url } = processes.get('api')!);
    account = await installation.openAccount();
    await ended(url, account.key, (await queueMany(1, 'bars'))[0]!);
    prometheus = await startPrometheus({ directory: watching, targets: targets(...roles), shortened });
    for (const role of roles) await isSeen(role);
  }, 180_000);

  afterAll(async () => {
    console.log(rows.join('\n'));
    await Promise.all(started.map((process) => process.stop()));
    await installation[Symbol.asyncDispose]();
    await Promise.all([...Object.values(servers).map((server) => server.stop()), prometheus.stop()]);
  }, 120_000);

  it('of books, limits, machines and platforms', { timeout: 1_800_000 }, async () => {
    const other = await installation.openAccount();
    await queue(url, other.key, { url: installation.sampleUrl('private') });
    const database = await createMigratedDatabase();
    let api2 = await startLimitedApi();
    const beside = ['api2', 'worker2', 'worker3', 'projector2'];
    prometheus.watch(targets(...roles, ...beside));
    // A counter that Prometheus has not seen at 0 does not grow.
    await isSeen('api2');
    // Before other workers, whose slots are free because they take no jobs.
    const full = raises('more downloads than slots', ['WorkersFull'], () => queueMany(10, 'slow'));
    await allOf([
      full,
      raises('a platform that takes too long', [['PlatformFails', { platform: 'sample' }]], async () => undefined),
      raises('no mail server', [['MailsWait', { about: 'document' }]], async () => undefined),
      raises('a row is added to the ledger by hand', ['BooksDiverge'], () => forgeLedgerRow(other.accountId)),
      raises('a balance is forged', [['RowsNotBelieved', { table: 'credits' }]], async () => {
        await (await sql('update credits set downloads = 1000 where account_id = $1', [other.accountId])).end();
        await call(url, '/credits', { key: other.key });
      }),
      full.then(() => raises('a machine without namespaces', ['GuardMissing'], startUnguardedWorker)),
      full.then(() =>
        raises(
          'an old yt-dlp, on a full disk',
          [['DownloaderOld', { instance: hostOf('worker3') }], 'DiskLow', 'DiskFilling'],
          startOldWorker,
        ),
      ),
      raises('two projectors on two databases', ['TwoLeaders'], async () => {
        await start('projector2', 'projector', { DATABASE_URL: database.url });
      }),
      raises('more connections than open files allow', ['ConnectionsDropped'], () => openConnections(api2.url)).then(
        () =>
          raises('a process that restarts three times', ['Restarting'], async () => {
            for (let times = 0; times < 3; times += 1) {
              const seenStart = () => prometheus.valueOf(`process_start_time_seconds{instance="${hostOf('api2')}"}`);
              const before = await seenStart();
              await api2.kill();
              api2 = await startLimitedApi();
              await waitFor(async () => ![undefined, before].includes(await seenStart()), {
                what: 'Prometheus to see the new process',
                timeoutMs: 120_000,
              });
            }
          }),
      ),
    ]).finally(async () => {
      prometheus.watch(targets(...roles));
      for (const process of started.slice(roles.length)) await process.stop();
      await database.drop();
    });
  });

  it('of NATS', { timeout: 1_800_000 }, async () => {
    await raises(
      'NATS stops',
      [['ServerAway', { server: 'nats' }], 'JobsWait', ['GaugesMissing', { group: 'queue' }]],
      async () => {
        await servers.nats.stop();
        await queueMany(40, 'private');
      },
    );
    await raises('jobs that have waited for minutes begin', ['JobsStartLateFastBurn'], () => servers.nats.start());
  });

  it('of the event store', { timeout: 1_800_000 }, async () => {
    const [token = ''] = await queueMany(1, 'bars');
    await ended(url, account.key, token);
    const away = ['UnknownOutcomeOpen', 'AppendOpen', 'ApiErrorsFastBurn', 'FilesOverdue', 'AuditBehind'];
    const end = clients(4, () => queueMany(1, 'private'));
    await raises('the event store stops answering', [['ServerAway', { server: 'event_store' }], ...away], async () => {
      process.kill(servers.eventStore.pid, 'SIGSTOP');
    }).finally(async () => {
      process.kill(servers.eventStore.pid, 'SIGCONT');
      await end();
    });
  });

  it('of read models and polls', { timeout: 1_800_000 }, async () => {
    const [token = ''] = await queueMany(1, 'private');
    const writing = await sql('begin');
    await raises(
      'a lock in Postgres that stops writes',
      [['ReadModelStuck', { projection: 'usage_and_jobs' }]],
      async () => {
        await writing.query('lock table jobs in exclusive mode');
        await queueMany(1, 'private');
      },
    ).finally(() => writing.end());
    const reading = await sql('begin');
    const stop = clients(20, () => call(url, `/video/status?token=${token}`, { key: account.key }));
    await raises('a lock in Postgres that stops reads', ['PollsSlowFastBurn'], () =>
      reading.query('lock table jobs in access exclusive mode'),
    ).finally(async () => {
      await reading.end();
      await stop();
    });
  });

  it('of Postgres', { timeout: 1_200_000 }, async () => {
    await raises('Postgres stops', [['ServerAway', { server: 'postgres' }], 'NoProjector', 'NoDispatcher'], () =>
      servers.postgres.stop(),
    );
    await servers.postgres.start();
    const isBack = async () => (await fetch(`${url}/readyz`)).ok && !(await prometheus.isFiring('NoDispatcher'));
    await waitFor(isBack, { what: 'Postgres to be back', timeoutMs: 180_000 });
  });

  it('of the file store', { timeout: 1_200_000 }, async () => {
    await raises('the file store is gone', ['JobsFailByService'], async () => {
      renameSync(join(faulty, 'files'), join(faulty, 'files-gone'));
      writeFileSync(join(faulty, 'files'), '');
      await queueMany(4, 'bars');
    });
  });

  it('and the dashboards show them, while there are processes to look at', { timeout: 120_000 }, async () => {
    const end = Math.floor(Date.now() / 1000);
    const span = { start: end - (end % 15) - 3_600, end, step: 15 };
    for (const dashboard of dashboards) {
      const page = await browser.open('http://dashboards.test');
      await page.setViewportSize({ width: 1500, height: 1000 });
      await page.setContent(await dashboardPage(prometheus.url, dashboard, span));
      await page.screenshot({ path: join(pictures, `${dashboard.uid}.png`), fullPage: true });
    }
  });

  it('of processes', { timeout: 1_800_000 }, async () => {
    const kill = (role: Role) => processes.get(role)!.kill();
    await queueMany(2, 'slow');
    await raises(
      'the worker is killed',
      ['WorkersLost', 'NoWorker', ['InstanceDown', { role: 'worker' }], 'MetadataFails'],
      async () => {
        await kill('worker');
        const video = encodeURIComponent(installation.sampleUrl('bars'));
        stopAsking = clients(4, () => call(url, `/video/metadata?url=${video}`, { key: account.key }));
      },
    );
    await stopAsking?.();
    await raises('the projector, dispatcher and API are killed', ['NoProjector', 'NoDispatcher', 'NoApi'], async () => {
      await Promise.all((['projector', 'dispatcher', 'api'] as const).map(kill));
    });
  });
});

type Server = Awaited<ReturnType<typeof restartable>>;

/** Waits for all of them, whichever fails. */
async function allOf(waits: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(waits)).filter(({ status }) => status === 'rejected');
  expect(failed).toEqual([]);
}
