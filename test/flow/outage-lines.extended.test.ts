import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { startEventStore } from '../support/event-store.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { planFile } from '../support/plans.ts';
import { restartable, type RestartableServer } from '../support/restartable-server.ts';
import { scrape, valueOf } from '../support/scraped-metrics.ts';
import type { ServiceProcess } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { pauseOfClient, waitFor } from '../support/wait-for.ts';

const [postgresData, natsData, logData] = [1, 2, 3].map(() => temporaryDirectoryOfFile()) as [string, string, string];
const servers = new Map<string, RestartableServer>();
const roles = ['api', 'projector', 'dispatcher', 'worker'] as const;
let installation: Installation;
let processes: ServiceProcess[];
let key: string;

beforeAll(async () => {
  const launched = await Promise.all([
    restartable((at) => launchPostgres({ dataDirectory: postgresData, ...at })),
    restartable((at) => launchNatsServer({ dataDirectory: natsData, ...at })),
    restartable((at) => startEventStore({ dataDirectory: logData, ...at })),
  ]);
  ['DATABASE_URL', 'NATS_URL', 'EVENTSTORE_URL'].forEach((name, index) => servers.set(name, launched[index]!));
  const addresses = Object.fromEntries([...servers].map(([name, { url }]) => [name, url]));
  installation = await startInstallation({ ...addresses, PLANS_FILE: planFile({}), LOG_LEVEL: 'debug' });
  processes = [];
  for (const role of roles.toReversed()) processes.push(await installation.startRole(role));
  ({ key } = await installation.openAccount());
});

afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await Promise.all([...servers.values()].map((server) => server.stop()));
});

interface Line {
  level: number;
  msg: string;
  part?: string;
  what?: string;
  awaySeconds?: number;
  failures?: Record<string, number>;
}

/** As the metrics and `/readyz` call them. */
const serverNames: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres',
  NATS_URL: 'nats',
  EVENTSTORE_URL: 'event_store',
};

const linesOf = ({ log }: ServiceProcess) => jsonLines<Line>(log());
const isLoss = ({ msg }: Line) => msg.startsWith('a part is lost');
const isReturn = ({ msg }: Line) => msg.startsWith('a part is back');

it.each([
  ['DATABASE_URL', 'Postgres', ['the admission of requests', 'the leadership of the projector']],
  ['NATS_URL', 'NATS', ['NATS']],
  ['EVENTSTORE_URL', 'EventStoreDB', ['the event store', 'the subscription of read models']],
])('an outage of %s is two lines that name %s, whatever is tried', async (name, called, among) => {
  const server = servers.get(name)!;
  const before = processes.map((process) => linesOf(process).length);
  const written = () => processes.map((process, index) => linesOf(process).slice(before[index]));
  const asking = { isOver: false };
  const clients = Array.from({ length: 4 }, async () => {
    while (!asking.isOver) {
      const headers = { authorization: `Bearer ${key}` };
      // As clients do, and whatever watches over the processes.
      await fetch(`${processes.at(-1)?.url ?? ''}/api/v1/credits`, { headers }).catch(() => undefined);
      await Promise.all(processes.map(({ url }) => fetch(`${url}/readyz`).catch(() => undefined)));
      await pauseOfClient();
    }
  });
  await server.stop();
  await waitFor(
    () =>
      written()
        .flat()
        .filter(({ msg }) => msg === 'a part is still lost').length >= 40,
    {
      what: 'forty failures that are not worth a line',
    },
  );
  for (const { url } of processes) {
    const { metrics } = await scrape(url);
    const states = Object.values(serverNames).map((of) => valueOf(metrics, 'reeltally_server_ready', { server: of }));
    expect(states).toEqual(Object.keys(serverNames).map((each) => (each === name ? 0 : 1)));
  }
  await server.start();
  const stillLost = () =>
    written().flatMap((lines) => {
      const back = new Set(lines.filter(isReturn).map(({ part }) => part));
      return lines.filter((line) => isLoss(line) && !back.has(line.part)).map(({ part }) => part);
    });
  await waitFor(() => stillLost().length === 0, { what: 'every part to be back' }).catch(() => {
    expect(stillLost()).toEqual([]);
  });
  asking.isOver = true;
  await Promise.all(clients);

  for (const lines of written()) {
    const warned = lines.filter(({ level }) => level >= 40);
    const server = serverNames[name];
    expect(warned).toMatchObject([
      { msg: `${called} is away; until it is back, what fails for it is logged at debug`, server },
      { msg: `${called} is back`, server, awaySeconds: expect.any(Number) as number },
    ]);
    // Without stacks, and short enough to be read.
    expect(Math.max(...warned.map((line) => JSON.stringify(line).length))).toBeLessThan(500);
    for (const { part, awaySeconds, failures = {} } of lines.filter(isReturn)) {
      expect(awaySeconds).toBeGreaterThanOrEqual(0);
      // The failed attempts and their number: the first is the loss, the others follow it.
      const tried = lines
        .filter((line) => line.part === part && line.level < 40 && !isReturn(line))
        .map(({ what = '' }) => what);
      const times = Map.groupBy(tried, (what) => what);
      expect(failures).toEqual(Object.fromEntries([...times].map(([what, all]) => [what, all.length])));
    }
  }
  const parts = written()
    .flat()
    .map(({ part }) => part);
  expect(parts).toEqual(expect.arrayContaining(among));
});
