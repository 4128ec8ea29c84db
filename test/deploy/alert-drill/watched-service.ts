import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { dashboards } from '../../../deploy/grafana/dashboards.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import type { BrowserOfFile } from '../../support/browser.ts';
import { ended, queue } from '../../support/downloads.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { planFile } from '../../support/plans.ts';
import { connectClient } from '../../support/postgres.ts';
import {
  type Environment,
  type OpenedAccount,
  type ServiceProcess,
  type StartedBy,
  startProcess,
} from '../../support/service.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dashboardPage } from '../dashboard-page.ts';
import { type Prometheus, startPrometheus } from '../prometheus.ts';

/**
 * A service of one process for each role, watched by a Prometheus of its own: `npm run drill:alerts` starts one for each file of
 * this folder, all at the same time, makes faults happen on it, and waits for their alerts. The table in docs/watching.md is what
 * it prints. It needs root, and Debian's package `prometheus`.
 */
export const isDrill = process.env['ALERT_DRILL'] === '1';

/** The longest of them takes half of it. */
export const drillTimeoutMs = 3_000_000;

/** Rules that would take hours, each with another that takes minutes. */
const shortened = [
  ['reeltally_audit_behind_seconds) > 86400', 'reeltally_audit_behind_seconds) > 60'],
  ['reeltally_oldest_waiting_mail_seconds) > 3600', 'reeltally_oldest_waiting_mail_seconds) > 60'],
  [
    'reeltally_periods_not_closed[5m])) > 0\n        for: 6h',
    'reeltally_periods_not_closed[5m])) > 0\n        for: 1m',
  ],
  ['reeltally_engine_age_days) > 60\n        for: 1h', 'reeltally_engine_age_days) > 60\n        for: 1m'],
  // The positions of EventStoreDB are bytes, those of the embedded event store far fewer.
  ['reeltally_projection_lag_positions[10m])) > 1e6', 'reeltally_projection_lag_positions[10m])) > 1e3'],
] as const;

/** Where pictures of the dashboards go. */
const pictures = process.env['DRILL_PICTURES'] ?? tmpdir();

const roles = ['projector', 'dispatcher', 'worker', 'api'] as const;
type Role = (typeof roles)[number];

type ExpectedAlert = string | readonly [name: string, labels: Readonly<Record<string, string>>];

export interface WatchedService {
  installation: Installation;
  prometheus: Prometheus;
  /** Address of the API. */
  url: string;
  account: OpenedAccount;
  /** The process of this name that was started last; the first ones have the names of their roles. */
  running: (name: string) => ServiceProcess;
  /** `host:port` of a process, also of one that is not started yet: the label `instance`. */
  hostOf: (name: string) => Promise<string>;
  /** Starts a process, in the place of another of this name, and waits until Prometheus has seen it. */
  start: (name: string, role: Role, more?: Environment, startedBy?: StartedBy) => Promise<ServiceProcess>;
  /** Queues an item of the sample platform so many times. @returns the request tokens */
  queueMany: (count: number, item: string) => Promise<string[]>;
  /** A connection to the service's database. */
  connect: () => Promise<pg.Client>;
  /** Makes a fault, and waits until its alerts fire. */
  raises: (cause: string, alerts: readonly ExpectedAlert[], act?: () => unknown) => Promise<void>;
  /** Draws the dashboards of the whole story. */
  draw: (browser: BrowserOfFile) => Promise<void>;
}

/** @param given settings, or how to make them */
export function watchedService(
  story: string,
  given: Environment | (() => Environment | Promise<Environment>) = {},
): WatchedService {
  const watching = temporaryDirectoryOfFile();
  const service: Partial<WatchedService> = {};
  const hosts = new Map<string, string>();
  const started = new Map<string, { role: Role; host: string; process: ServiceProcess }>();
  const rows: string[] = [];
  const startedSeconds = Math.floor(Date.now() / 1000);
  const prometheus = () => service.prometheus!;
  const environment = () => service.installation!.environment;

  const hostOf = async (name: string) => {
    const host = hosts.get(name) ?? `127.0.0.1:${await freePort()}`;
    hosts.set(name, host);
    return host;
  };
  const start: WatchedService['start'] = async (name, role, more = {}, startedBy) => {
    const host = await hostOf(name);
    const port = host.split(':')[1] ?? '';
    const seenStart = () => prometheus().valueOf(`process_start_time_seconds{instance="${host}"}`);
    const startBefore = await seenStart();
    const settings = { ...environment(), HEALTH_PORT: port, ...more, ...(role === 'api' && { PORT: port }) };
    const process = await startProcess(role, settings, startedBy);
    started.set(name, { role, host, process });
    prometheus().watch([...started.values()]);
    // A counter that Prometheus has not seen at 0 does not grow.
    await waitFor(async () => ![undefined, startBefore].includes(await seenStart()), {
      what: `Prometheus to see ${name}`,
      timeoutMs: 120_000,
      pollMs: 500,
    });
    return process;
  };
  const raises: WatchedService['raises'] = async (cause, alerts, act = () => undefined) => {
    const named = alerts.map((alert) => (typeof alert === 'string' ? ([alert, {}] as const) : alert));
    for (const [name, labels] of named) {
      const isOver = async () => !(await prometheus().isFiring(name, labels));
      await waitFor(isOver, { what: `the end of ${name} after an earlier fault`, timeoutMs: 600_000, pollMs: 1_000 });
    }
    const startedMs = performance.now();
    await act();
    await allOf(
      named.map(async ([name, labels]) => {
        await waitFor(() => prometheus().isFiring(name, labels), {
          what: `${name} after ${cause}`,
          timeoutMs: 1_800_000,
          pollMs: 1_000,
        });
        const row = `| ${cause} | \`${name}\` | ${Math.round((performance.now() - startedMs) / 1000)} |`;
        console.log(row);
        rows.push(row);
      }),
    );
  };

  beforeAll(async () => {
    const installation = await startInstallation({
      PLANS_FILE: planFile({ hourly_limit: 10_000, fee_cents: 1_900 }),
      ...(typeof given === 'function' ? await given() : given),
    });
    service.installation = installation;
    service.prometheus = await startPrometheus({ directory: watching, shortened });
    for (const role of roles) await start(role, role);
    service.url = started.get('api')!.process.url;
    service.account = await installation.openAccount();
    await ended(service.url, service.account.key, (await service.queueMany!(1, 'bars'))[0]!);
  }, 300_000);

  afterAll(async () => {
    console.log([story, ...rows].join('\n'));
    await Promise.all([...started.values()].map(({ process }) => process.stop()));
    await service.installation?.[Symbol.asyncDispose]();
    await service.prometheus?.stop();
  }, 120_000);

  const methods = {
    running: (name) => started.get(name)!.process,
    hostOf,
    start,
    raises,
    queueMany: async (count, item) => {
      const body = { url: service.installation!.sampleUrl(item) };
      const tokens = [];
      for (let index = 0; index < count; index += 1)
        tokens.push((await queue(service.url!, service.account!.key, body)).request_token);
      return tokens;
    },
    connect: async () => {
      return await connectClient(environment().DATABASE_URL);
    },
    draw: async (browser) => {
      const end = Math.floor(Date.now() / 1000);
      const span = { start: startedSeconds - (startedSeconds % 15), end, step: 15 };
      for (const dashboard of dashboards) {
        const page = await browser.open('http://dashboards.test');
        await page.setViewportSize({ width: 1500, height: 1000 });
        await page.setContent(await dashboardPage(prometheus().url, dashboard, span));
        await page.screenshot({ path: join(pictures, `${story}-${dashboard.uid}.png`), fullPage: true });
      }
    },
  } satisfies Partial<WatchedService>;
  return Object.assign(service, methods) as WatchedService;
}

/** Clients that ask all the while. @returns how to end them */
export function clients(count: number, ask: () => Promise<unknown>): () => Promise<void> {
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
}

/** Waits for all of them, whichever fails. */
export async function allOf(waits: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(waits)).filter(({ status }) => status === 'rejected');
  expect(failed).toEqual([]);
}
