import { issueApiKey, openAccount } from '../../src/commands/accounts.ts';
import { changeTerms } from '../../src/commands/change-terms.ts';
import { hashApiKey } from '../../src/commands/ids/api-key.ts';
import { inviteStaff, newStaffCache } from '../../src/commands/staff.ts';
import { originOfUsage } from '../../src/commands/usage/usage-cache.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { runLastClient, runLateClient } from './clients.ts';
import { after, passUntil, pause, reset, virtualMs } from './clock.ts';
import type { StoredEvent } from './event-log.ts';
import { isSettled, judge } from './judge.ts';
import { type ClientKind, clientKinds, drawTerms, runClient, type SimulatedScene } from './owners-and-staff.ts';
import { ApiProcess, DispatcherProcess, ServiceProcess, type Settings } from './service.ts';
import { WorkerProcess } from './worker-process.ts';
import { World } from './world.ts';

export interface Violation {
  rule: string;
  what: string;
}

/** What one history has held, and what was wrong with it. */
export interface History {
  seed: number;
  violations: Violation[];
  traceHash: string;
  requests: number;
  events: number;
  virtualMs: number;
  /** Names of the faults that happened. */
  faults: string[];
  /** Names of the clients. */
  clients: string[];
  /** Where it was asked for. */
  log?: readonly StoredEvent[];
}

export interface SimulationOptions {
  /** Names of the clients and faults that take part; default: all that are drawn. */
  only?: ReadonlySet<string> | undefined;
  print?: ((line: string) => void) | undefined;
  /** Whether the history is to have its log. */
  keepsLog?: boolean;
}

/** From then on nothing fails any more, at the latest. */
const latestCalmMs = 45_000;
/** So much later nothing is on its way any more that was sent before. */
const quietMs = 20_000;
/** After the last fault, so long until everything has to be done. */
const settledWithinMs = 300_000;

/** Runs one history: everything in it follows from the seed. */
export async function simulate(
  seed: number,
  { only, print, keepsLog = false }: SimulationOptions = {},
): Promise<History> {
  reset();
  const world = new World(seed, only, print);
  const scene: SimulatedScene = { world, calls: [], corrections: [], keys: [], apis: () => [], busy: 0 };
  const clients: string[] = [];
  const violations: Violation[] = [];
  try {
    const graceSeconds = world.randomness.of('grace').pick([0, 5, 9, 10, 11, 12, 20, 60]);
    const everyMs = world.randomness.of('pace').pick([1_500, 5_000, 10_000]);
    const calmAtMs = world.randomness.of('calm').pick([20_000, 30_000, latestCalmMs, latestCalmMs]);
    await openAccounts(world);
    startProjector(world);
    const processes = startProcesses(world, scene, { graceSeconds, everyMs });
    clients.push(...startClients(scene, only));
    drawOutages(world, processes);
    after(calmAtMs, () => {
      world.faults.end();
      world.tell('world', 'is calm');
      Object.assign(world.log, { awayUntilMs: 0 });
      Object.assign(world.postgres, { awayUntilMs: 0 });
      for (const process of processes()) Object.assign(process, { clockIsWrong: false });
      // A worker may still be asleep, and lose its claim meanwhile.
      for (const process of processes()) if (!(process instanceof WorkerProcess)) process.resume();
    });
    let isQuiet = false;
    after(calmAtMs + quietMs, () => {
      isQuiet = true;
      for (const process of scene.apis()) void runLastClient(scene, process);
    });
    const isDone = () => isQuiet && scene.busy === 0 && isSettled(world, graceSeconds);
    let done = false;
    const look = () => {
      done = isDone();
      if (!done) after(1_000, look);
    };
    look();
    const settled = await passUntil(() => done, calmAtMs + settledWithinMs);
    const ends =
      settled && world.hasWorkers && world.parts.files ? await passTimeOfFiles(world, scene, isDone) : settled;
    if (!ends)
      violations.push({ rule: 'liveness', what: `not done ${String(settledWithinMs / 1_000)} s after the last fault` });
    violations.push(...world.violations, ...(await judge({ ...scene, graceSeconds })));
  } catch (error) {
    violations.push({
      rule: 'simulation',
      what: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  }
  for (const { rule, what } of violations) world.tell('judge', `${rule}: ${what}`);
  return {
    seed,
    violations,
    traceHash: world.traceHash(),
    requests: scene.calls.length,
    events: world.log.events.length,
    virtualMs: virtualMs(),
    faults: world.happened,
    clients,
    ...(keepsLog && { log: world.log.events }),
  };
}

/** Longer than a link lives, and than it may be given too late. */
const longestLinkMs = 2 * 3_600_000;

/** Time passes while nothing runs: until a link is about to end, and until all are over. @returns whether no file is left */
async function passTimeOfFiles(world: World, scene: SimulatedScene, isDone: () => boolean): Promise<boolean> {
  const random = world.randomness.of('leaps');
  const leap = (byMs: number) => {
    world.leapMs += Math.max(0, byMs);
    world.tell('world', `all machines sleep for ${String(byMs)} ms`);
    for (const process of scene.apis()) void runLateClient(scene, process, `late.${process.name}`);
  };
  const endOfLinkMs = random.pick(world.files.endsOfLinksMs) ?? world.realNowMs() + 3_600_000;
  for (const byMs of [endOfLinkMs - world.realNowMs() + random.between(-5_000, 500), longestLinkMs, longestLinkMs]) {
    leap(byMs);
    // What is due by now is done before the next.
    await passUntil(() => false, virtualMs() + 8_000);
  }
  world.areLinksOver = true;
  return await passUntil(() => world.files.count === 0 && isDone(), virtualMs() + 60_000);
}

/** When accounts were opened, and when the histories begin: mostly shortly before the end of a billing period. */
const calendars = [
  { opened: '2026-11-15T10:00:00.000Z', start: '2026-11-20T12:00:00.000Z' },
  { opened: '2026-11-15T10:00:00.000Z', start: '2026-12-14T23:59:40.000Z' },
  { opened: '2026-08-31T10:00:00.000Z', start: '2026-11-29T23:59:45.000Z' },
  { opened: '2026-10-31T10:00:00.000Z', start: '2026-11-29T23:59:30.000Z' },
  // The end of February, in a leap year and in others, and of a year.
  { opened: '2027-10-31T10:00:00.000Z', start: '2028-02-28T23:59:40.000Z' },
  { opened: '2026-12-30T10:00:00.000Z', start: '2027-02-27T23:59:40.000Z' },
  { opened: '2026-12-05T10:00:00.000Z', start: '2027-01-04T23:59:40.000Z' },
] as const;

/** The first and the last are one person. */
const staff = [
  ['alice@s.example', 'finance'],
  ['bob@s.example', 'finance'],
  ['sam@s.example', 'support'],
  ['Alice+2@s.example', 'finance'],
] as const;

async function openAccounts(world: World): Promise<void> {
  const random = world.randomness.of('accounts');
  const calendar = random.pick(calendars)!;
  // Before the history begins nothing fails.
  const opener = new ServiceProcess('opener', world);
  const openedMs = Date.parse(calendar.opened);
  const now = () => new Date(openedMs + virtualMs()).toISOString();
  const newId = (prefix: string) => `${prefix}_${random.uuid().replaceAll('-', '')}`;
  const dependencies = {
    store: opener.store,
    now,
    newUuid: opener.newUuid,
    newId,
    randomBits: (count: number) => random.bytes(count),
  };
  const open = async () => {
    const actor = { type: 'system', id: 'simulation' } as const;
    const request = { correlationId: opener.newUuid(), actor, timeoutMs: 60_000 };
    const email = `owner${String(world.accounts.length)}@b.example`;
    const account = await openAccount(dependencies, { ...request, email, terms: drawTerms(random) });
    if (isRefused(account)) throw new Error(account.refusal);
    const { accountId } = account;
    const key = await issueApiKey(dependencies, { ...request, accountId, label: 'simulated', maxKeys: 5 });
    if (isRefused(key)) throw new Error(key.refusal);
    if (random.chance(0.6)) {
      const snapshot = await originOfUsage(opener.store, accountId);
      const cause = { commandId: opener.newUuid(), correlationId: accountId, causationId: accountId, actor };
      const change = { kind: 'set_overage_cap', overageCapCents: 25 * random.between(0, 6), effective: 'now' } as const;
      world.startMs = openedMs;
      await changeTerms(opener.writers, { accountId, change, snapshot: snapshot!, cause, timeoutMs: 60_000 });
    }
    const opened = { accountId, email, personId: accountId.replace('acc_', 'per_'), apiKey: key.key, keyId: key.keyId };
    world.accounts.push(opened);
    world.accountsByKey.set(hashApiKey(key.key), opened);
  };
  const inviteAll = async () => {
    const operator = { type: 'staff', id: 'ops', role: 'operator', reason: 'simulated' } as const;
    for (const [email, role] of staff) {
      const order = { email, role, by: { operator }, timeoutMs: 60_000 };
      const invited = await inviteStaff({ ...dependencies, staffCache: newStaffCache() }, order);
      if (isRefused(invited)) throw new Error(invited.refusal);
      world.staff.push(invited.staffId);
    }
  };
  let isOpen = false;
  const count = random.pick([1, 2, 4]);
  const opening = opener.run(async () => {
    for (let number = 0; number < count; number += 1) await open();
    if (world.parts.corrections) await inviteAll();
    isOpen = true;
  });
  await Promise.race([passUntil(() => isOpen, 600_000), opening]);
  await opening;
  await passUntil(() => false, virtualMs() + 1_000);
  world.startMs = Date.parse(calendar.start) - virtualMs();
  const dayMs = 86_400_000;
  world.endOfPeriodMs = Math.ceil(Date.parse(calendar.start) / dayMs) * dayMs - world.startMs;
  world.faults.begin();
}

/** The read models follow the log, late by what is drawn, and stand still now and then. */
function startProjector({ randomness, log, postgres, faults }: World): void {
  const random = randomness.of('projector');
  const lagMs = random.pick([20, 300, 3_000, 8_000]);
  let stalls = 0;
  const follow = async () => {
    for (;;) {
      // Positions count the events of the log.
      const [applied, count] = [Number(postgres.readModels.appliedUpTo), log.readAll().length];
      for (const event of log.events.slice(applied, random.between(applied, count))) {
        postgres.readModels.apply(event);
      }
      const isStalled = random.chance(0.01) && faults.takesPlace(`projector_stalls.${String((stalls += 1))}`);
      if (postgres.readModels.appliedUpTo === log.events.at(-1)?.position) await log.nextAppend();
      await pause(faults.isOver ? 20 : random.between(1, isStalled ? 15_000 : lagMs));
    }
  };
  void follow();
}

/** @returns all processes that have not ended */
function startProcesses(world: World, scene: SimulatedScene, settings: Settings): () => ServiceProcess[] {
  const random = world.randomness.of('processes');
  let started = 0;
  const slots: (ServiceProcess | undefined)[] = [];
  const keepRunning = (slot: number, start: (name: string) => ServiceProcess) => {
    started += 1;
    const process = start(`${start.name}${String(started)}`);
    slots[slot] = process;
    world.tell(process.name, 'starts');
    void process.ended.promise.then(async () => {
      slots[slot] = undefined;
      await pause(random.between(100, 5_000));
      keepRunning(slot, start);
    });
  };
  const api = (name: string) => new ApiProcess(name, world);
  const dispatcher = (name: string) => new DispatcherProcess(name, world, settings);
  const worker = (name: string) => new WorkerProcess(name, world);
  // Half of the histories are about money alone: their jobs wait.
  const counts = [random.between(1, 4), random.between(1, 2), random.chance(0.5) ? 0 : random.between(1, 3)];
  const starts = [api, dispatcher, worker].flatMap((start, role) => Array.from({ length: counts[role]! }, () => start));
  // Workers that begin late fail downloads of periods that are closed by then, or are being closed.
  const closingMs = Math.min(world.endOfPeriodMs + settings.graceSeconds * 1_000, 60_000) - virtualMs();
  const lateMs = random.pick([0, 0, closingMs, closingMs + random.between(1_000, 12_000), 60_000]);
  for (const [slot, start] of starts.entries())
    if (start === worker) after(lateMs, () => keepRunning(slot, start));
    else keepRunning(slot, start);
  world.hasWorkers = starts.includes(worker);
  const running = () => slots.filter((process) => process !== undefined);
  scene.apis = () =>
    running().filter((process): process is ApiProcess => process instanceof ApiProcess && !process.isStopping);
  return running;
}

function startClients(scene: SimulatedScene, only: ReadonlySet<string> | undefined): string[] {
  const random = scene.world.randomness.of('clients');
  const weights: Record<ClientKind, number> = random.chance(0.2)
    ? { downloader: 4, reader: 2, watcher: 1, owner: 5, keyHolder: 2, staff: 8 }
    : { downloader: 10, reader: 3, watcher: 2, owner: 2, keyHolder: 1, staff: 2 };
  const kinds = (Object.keys(clientKinds) as ClientKind[]).flatMap((kind) =>
    Array.from({ length: weights[kind] }, () => kind),
  );
  const count = random.pick([1, 2, 4, 12]);
  const names: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const kind = random.pick(kinds)!;
    const name = `${kind}.${String(number)}`;
    if (only?.has(name) === false) continue;
    names.push(name);
    void runClient(scene, name, kind);
  }
  return names;
}

/** Outages, kills, pauses and steps of clocks, at drawn instants. */
function drawOutages(world: World, processes: () => ServiceProcess[]): void {
  const random = world.randomness.of('outages');
  const draw = (
    kind: string,
    most: number,
    happen: (lengthMs: number, process: ServiceProcess | undefined) => void,
  ) => {
    const count = random.chance(0.5) ? 0 : random.between(1, most);
    for (let number = 1; number <= count; number += 1) {
      const [atMs, lengthMs] = [random.between(0, 40_000), random.between(300, random.pick([3_000, 20_000]))];
      after(atMs, () => {
        const process = random.pick(processes());
        if (world.faults.takesPlace(`${kind}.${String(number)}`)) happen(lengthMs, process);
      });
    }
  };
  draw('log_away', 3, (lengthMs) => (world.log.awayUntilMs = virtualMs() + lengthMs));
  draw('postgres_away', 2, (lengthMs) => (world.postgres.awayUntilMs = virtualMs() + lengthMs));
  draw('network_away', 2, (lengthMs) => {
    for (const server of [world.log, world.postgres]) server.awayUntilMs = virtualMs() + lengthMs;
  });
  draw('killed', 3, (_lengthMs, process) => {
    world.tell(process?.name ?? 'nobody', 'is killed');
    process?.kill();
  });
  draw('stopped', 2, (lengthMs, process) => {
    if (process instanceof WorkerProcess) process.stop();
    if (!(process instanceof ApiProcess)) return;
    world.tell(process.name, 'is stopped');
    void process.stop(Math.min(lengthMs, 5_000));
  });
  draw('paused', 3, (lengthMs, process) => {
    // A worker may lose its claim meanwhile.
    const pauseMs = process instanceof WorkerProcess ? 32_000 + lengthMs : lengthMs;
    world.tell(process?.name ?? 'nobody', `stands still for ${String(pauseMs)} ms`);
    process?.pause(pauseMs);
  });
  draw('clock_steps', 3, (_lengthMs, process) => {
    if (process) process.skewMs = random.between(-900, 900);
  });
  draw('clock_wrong', 1, (lengthMs, process) => {
    if (process) process.clockIsWrong = true;
    after(lengthMs, () => process && Object.assign(process, { clockIsWrong: false }));
  });
}
