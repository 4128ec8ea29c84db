import { createServer, request as sendRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { dispatchCheckpoint } from '../../projections/runner/checkpoints.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { withAdapter } from '../support/event-store-adapter.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { listen } from '../support/listen.ts';
import { withClient } from '../support/postgres.ts';
import { readLog } from '../support/read-log.ts';
import { waitFor } from '../support/wait-for.ts';
import { downloader, reader, runLastClient, type Scene, watcher } from './clients.ts';
import { judge } from './judge.ts';
import type { Edit } from './module-hooks.ts';
import { type Random, Randomness } from './random.ts';
import { evidenceOf } from './real-evidence.ts';
import { type Counts, killsOf, type Role, Slot } from './real-processes.ts';
import type { Violation } from './simulation.ts';

/** What a history of real processes has held, and what was wrong with it. */
export interface RealHistory extends Counts {
  seed: number;
  violations: Violation[];
  requests: number;
  answers: Record<string, number>;
  events: number;
  seconds: number;
  /** What happened, line by line. */
  trace: readonly string[];
}

interface RealHistoryOptions {
  /** So many processes are killed at their points, or a few more. */
  kills: number;
  /** So many clients come at least. */
  clients: number;
  /** With the plans `small` and `large`. */
  plansFile: string;
  /** Changes of the service's source, for a planted bug. */
  edits?: readonly Edit[] | undefined;
}

/** After the last kill, so long until everything has to be done. */
const settledWithinMs = 300_000;

const roles: readonly Role[] = ['projector', 'projector', 'api', 'api', 'dispatcher', 'dispatcher', 'worker', 'worker'];

/** Most films are refused at once: whole downloads take the time of the machine. */
const items = ['private', 'bars', 'gone', 'odd', 'private', 'bars', 'broken'] as const;

/** Runs the service in several real processes, which are killed at drawn points, until enough of them were. */
export async function runRealHistory(
  seed: number,
  { kills, clients: leastClients, plansFile, edits }: RealHistoryOptions,
): Promise<RealHistory> {
  const begunMs = performance.now();
  const randomness = new Randomness(seed);
  await using installation = await startInstallation({
    PLANS_FILE: plansFile,
    CLOSING_GRACE_SECONDS: '5',
    ATTEMPT_TIMEOUT_SECONDS: '60',
    LOG_LEVEL: 'warn',
  });
  await using platform = await startManyItems(installation);
  const { accounts, clockOffsetSeconds } = await openAccounts(installation, randomness.of('accounts'));
  const environment = {
    SAMPLE_PLATFORM_URL: platform.url,
    ...clockOffset(clockOffsetSeconds),
    ...(edits && { PLANTED_EDITS: JSON.stringify(edits) }),
  };
  const startedAtMs = Date.now();
  const trace: string[] = [];
  const counts: Counts = { killedAt: { call: 0, reply: 0 }, killedWaiting: 0, pauses: 0, starts: 0 };
  const tell = (who: string, what: string) => {
    trace.push(`${String(Date.now() - startedAtMs).padStart(7)} ${who.padEnd(13)} ${what}`);
  };
  const options = { installation, environment, reach: randomness.of('reach').pick([0.3, 1, 2]), counts, tell };
  const slots = roles.map((role, index) => new Slot(role, randomness.of(`slot ${String(index)}`), options));
  const scene: Scene = {
    world: {
      randomness,
      tell,
      accounts,
      shareOfMistakes: 0.05,
      nowMs: () => Date.now() - startedAtMs,
      urlOf: (video) => `${platform.url}/watch/${items[video % items.length] ?? ''}-${String(video)}`,
    },
    calls: [],
    apis: () => slots.flatMap(({ role, running }) => (role === 'api' && running ? [running] : [])),
    busy: 0,
  };
  const violations: Violation[] = [];
  let hasFailed = false;
  let clientsCame = 0;
  const isEnough = () => hasFailed || (killsOf(counts) >= kills && clientsCame >= leastClients);
  // Its failure is not an answer to anybody: a command may run into what the kills leave behind.
  const order = async (words: readonly string[]) => {
    const outcome = await installation.cli(words, environment).catch(String);
    tell('operator', `${words.join(' ')}: ${JSON.stringify(outcome).slice(0, 80)}`);
  };
  const running = slots.map((slot) =>
    slot.keepRunning(isEnough).catch((error: unknown) => {
      hasFailed = true;
      violations.push({ rule: 'keeps_running', what: String(error) });
    }),
  );
  const clients = runClients(scene, {
    isEnough,
    random: randomness.of('clients'),
    nextNumber: () => (clientsCame += 1),
  });
  const orders = giveOrders(scene, { isEnough, random: randomness.of('operator'), cli: order });
  await Promise.all(running);
  tell('world', 'is calm');
  await Promise.all(slots.map((slot) => slot.startCalm()));
  await Promise.all([clients, orders]);
  await Promise.all(scene.apis().map((api) => runLastClient(scene, api)));
  const nowMs = () => Date.now() + clockOffsetSeconds * 1_000;
  const settled = waitFor(() => isSettled(installation, new Date(nowMs()).toISOString(), accounts.length), {
    what: 'everything to be done',
    timeoutMs: settledWithinMs,
    pollMs: 500,
  });
  await settled.catch((error: unknown) => violations.push({ rule: 'liveness', what: String(error) }));
  const verified = installation.cli(['ledger', 'verify'], environment);
  await verified.catch((error: unknown) => violations.push({ rule: 'ledger_verify', what: String(error) }));
  const filesDirectory = join(installation.environment['REELTALLY_DATA'] ?? '', 'files');
  const clockOffsetMs = clockOffsetSeconds * 1_000;
  const evidence = await withAdapter({ url: installation.environment.EVENTSTORE_URL }, (store) =>
    evidenceOf({ calls: scene.calls, store, filesDirectory, startedAtMs, clockOffsetMs }),
  );
  violations.push(...(await judge(evidence)));
  const statuses = scene.calls.map(({ answer }) => String(answer?.status ?? 'none'));
  return {
    seed,
    violations,
    ...counts,
    trace,
    requests: scene.calls.length,
    answers: Object.fromEntries([...Map.groupBy(statuses, String)].map(([status, all]) => [status, all.length])),
    events: evidence.world.log.readAll().length,
    seconds: Math.round((performance.now() - begunMs) / 1_000),
  };
}

type Accounts = Scene['world']['accounts'];

/** Business time is set so that the first period of all accounts ends soon. */
async function openAccounts(
  installation: Installation,
  random: Random,
): Promise<{ accounts: Accounts; clockOffsetSeconds: number }> {
  await installation.allowShiftedClock();
  const projector = await installation.startRole('projector');
  const accounts: Accounts[number][] = [];
  for (let left = random.pick([1, 2, 3]); left > 0; left -= 1) {
    const { accountId, key: apiKey, keyId } = await installation.openAccount(random.pick(['small', 'large']));
    accounts.push({ accountId, apiKey, keyId, personId: '', email: '' });
  }
  await projector.stop();
  const opened = (await installation.readLog('usage-')).find(({ type }) => type === 'UsagePeriodOpened');
  const { period_end: end } = opened?.data as { period_end: string };
  const offsetSeconds = Math.round((Date.parse(end) - Date.now()) / 1_000) - random.between(20, 90);
  return { accounts, clockOffsetSeconds: offsetSeconds };
}

/** Several at a time, of which the next comes when one has finished. */
async function runClients(
  scene: Scene,
  { isEnough, random, nextNumber }: { isEnough: () => boolean; random: Random; nextNumber: () => number },
): Promise<void> {
  const kinds = [downloader, downloader, downloader, reader, watcher] as const;
  const clientAfterClient = async () => {
    while (!isEnough()) {
      const kind = random.pick(kinds);
      await waitFor(() => scene.apis().length > 0, { what: 'a process that takes requests' });
      const name = `${kind.name}.${String(nextNumber())}`;
      const own = scene.world.randomness.of(name);
      await kind({ scene, name, random: own, account: own.pick(scene.world.accounts)! });
    }
  };
  await Promise.all(Array.from({ length: random.pick([10, 20]) }, clientAfterClient));
}

interface Operator {
  isEnough: () => boolean;
  random: Random;
  cli: (words: readonly string[]) => Promise<void>;
}

/** Changes of terms and waivers, from the command line. */
async function giveOrders({ world, calls }: Scene, { isEnough, random, cli }: Operator): Promise<void> {
  while (!isEnough()) {
    const accountId = random.pick(world.accounts)?.accountId ?? '';
    const token = random.pick(calls.filter(({ answer }) => answer?.data?.['overage'] === true))?.answer?.data?.[
      'request_token'
    ];
    const effective = ['--effective', random.pick(['now', 'next'])];
    const decision = ['--reason', 'drawn', '--by', 'alice', '--reference', `case-${String(random.between(1, 3))}`];
    const cap = ['accounts', 'cap', accountId, random.pick(['none', '50', '250', '1000']), ...effective];
    const plan = ['accounts', 'plan', accountId, random.pick(['small', 'large'])];
    const waiver = ['ledger', 'waive', String(token), ...decision];
    await cli(random.pick(token === undefined ? [cap, plan] : [cap, plan, waiver, waiver]));
    await sleepFor(random.between(100, 4_000));
  }
}

/** The real counterpart of the simulation's `isSettled`. */
async function isSettled({ environment }: Installation, now: string, accounts: number): Promise<boolean> {
  const events = await readLog(environment.EVENTSTORE_URL);
  const queued = events.filter(({ type }) => type === 'DownloadQueued').length;
  const { rows } = await withClient(environment.DATABASE_URL, (client) =>
    client.query<{ left: string; ended: string; open: string }>(
      `select (select count(*) from pending_voids) + (select count(*) from service_failures)
         + (select count(*) from credits where phase <> 'closed' and period_end <= $1)
         + (select count(*) from credits where opening_invoice_due or period_invoice_due)
         + (select count(*) from job_timeline t join checkpoints c on c.name = $2 and c.position < t.position
            where t.type = 'JobFailed') as left,
         (select count(*) from jobs where status in ('done', 'failed')) as ended,
         (select count(*) from credits where phase = 'open' and period_end > $1) as open`,
      [now, dispatchCheckpoint],
    ),
  );
  const [{ left, ended, open } = { left: '', ended: '', open: '' }] = rows;
  return left === '0' && Number(ended) === queued && Number(open) === accounts;
}

/** The sample platform, with as many items as are asked for: `song-7` is the item `song`. */
async function startManyItems({ environment }: Installation): Promise<{ url: string } & AsyncDisposable> {
  const origin = environment['SAMPLE_PLATFORM_URL'] ?? '';
  const server = createServer((request, response) => {
    const path = request.url?.replace(/^(\/(?:watch|thumbnails|api\/items)\/[a-z]+)-\d+/, '$1') ?? '/';
    const forward = sendRequest(`${origin}${path}`, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forward.on('error', () => response.destroy());
    request.pipe(forward);
  });
  const { port, close } = await listen(server);
  return { url: `http://127.0.0.1:${String(port)}`, [Symbol.asyncDispose]: close };
}
