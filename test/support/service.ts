import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isPortFree } from '../../src/embedded/free-port.ts';
import { type Ran, runLoaded } from './command-process.ts';
import { engineOfRun, linkEngine, prepareDataDirectory } from './films-and-engine-of-run.ts';
import { givenEngines } from './given-engines.ts';
import { createMigratedDatabase } from './postgres.ts';
import { makeDataDirectory, makeTemporaryDirectory } from './temporary-directory.ts';

/** The service as its users meet it: processes of its own, started by its own command line, spoken to over HTTP. */

const cliFile = fileURLToPath(new URL('../../src/main/reeltally.js', import.meta.url));
const nodeArguments = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=16', cliFile];

/** The command line itself, for tests that speak to it while it runs. */
export const cliCommand: readonly string[] = [process.execPath, ...nodeArguments];

/** The command line that starts another one in a place of the test's choice. */
export type StartedBy = (command: readonly string[]) => readonly string[];
const asItIs: StartedBy = (command) => command;

export type Environment = Readonly<Record<string, string>>;

/** What `serve --json` prints once it is ready. */
export interface Started {
  url: string;
  staffUrl: string | null;
  dataDirectory: string;
  samplePlatformUrl: string | null;
  demo: {
    accountId: string;
    key: string;
    keyId: string;
    signInPath?: string | null;
    staffSignInPath?: string | null;
  } | null;
  notices: string[];
}

export interface Running extends Started {
  pid: number;
}

export interface ServiceProcess extends AsyncDisposable, Running {
  /** Fulfilled with the exit code when it has ended, for whatever reason. */
  ended: Promise<number | null>;
  /** What it has written to standard error so far. */
  log: () => string;
  /** SIGTERM, and wait. @returns the exit code */
  stop: () => Promise<number | null>;
  /** SIGKILL, and wait. */
  kill: () => Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause: () => void;
  resume: () => void;
}

/** A running service as tests use it; another process may have started it. */
export interface ServiceInUse extends Running {
  sampleUrl: (item: string) => string;
  /** Another process of the same installation. */
  startRole: (
    role: 'api' | 'projector' | 'dispatcher' | 'worker',
    environment?: Environment,
  ) => Promise<ServiceProcess>;
  /** Runs the command line with `--json` and gives what it printed. @throws where it exits with another code than 0 */
  cli: <Answer = Record<string, unknown>>(...words: string[]) => Promise<Answer>;
  /** An account with one key. */
  openAccount: (plan: string) => Promise<OpenedAccount>;
}

export interface Service extends ServiceInUse, ServiceProcess {
  /** Starts the whole service again on the same data directory, after `stop` or `kill`. */
  restart: (environment?: Environment) => Promise<Service>;
}

interface ServiceOptions {
  /**
   * `embedded`: of the service's own. `of the run`: a database in the Postgres that all test files share, which is the same
   * program and starts no second time.
   */
  postgres?: 'embedded' | 'of the run';
  /** Whether the first download finds what takes long to make: the sample films and the unpacked engine. */
  isPrepared?: boolean;
}

/** Starts everything, in demo mode without its story, on a free port, and on a fresh data directory unless one is given. */
export async function startService(
  environment: Environment = {},
  { postgres = 'embedded', isPrepared = true }: ServiceOptions = {},
): Promise<Service> {
  const { addresses, drop } = await givenAddresses(postgres);
  const dataDirectory = environment['REELTALLY_DATA'] ?? makeDataDirectory();
  const ownEngine = isPrepared ? undefined : makeTemporaryDirectory();
  if (ownEngine !== undefined) linkEngine(ownEngine);
  const engine = ownEngine === undefined ? {} : { ENGINE_DIRECTORY: join(ownEngine, 'engine') };
  const service = await serviceOn(dataDirectory, { ...engine, ...addresses, ...environment });
  const dispose = async () => {
    await service[Symbol.asyncDispose]();
    await drop();
    if (ownEngine !== undefined) rmSync(ownEngine, { recursive: true, force: true });
  };
  try {
    if (isPrepared) await prepareDataDirectory(service.dataDirectory);
  } catch (error) {
    await dispose();
    throw error;
  }
  return { ...service, [Symbol.asyncDispose]: dispose };
}

/** Engines that are given by address take the place of the embedded ones; of Postgres, a database of the test's own. */
async function givenAddresses(
  postgres: 'embedded' | 'of the run',
): Promise<{ addresses: Environment; drop: () => Promise<void> }> {
  const { eventStoreUrl, databaseUrl, natsUrl } = givenEngines;
  const isEmbedded = databaseUrl === undefined && postgres === 'embedded';
  const database = isEmbedded ? undefined : await createMigratedDatabase();
  const addresses = {
    ...(eventStoreUrl !== undefined && { EVENTSTORE_URL: eventStoreUrl }),
    ...(database && { DATABASE_URL: database.url }),
    ...(natsUrl !== undefined && { NATS_URL: natsUrl }),
  };
  return {
    addresses: { ...addresses, DEMO: 'empty' },
    drop: async () => {
      await database?.drop();
    },
  };
}

/** So that heads are signed also where a server is not embedded. */
export const proofKeyOfTests = { PROOF_SIGNING_KEY: Buffer.alloc(32, 1).toString('base64') };

async function serviceOn(dataDirectory: string, given: Environment): Promise<Service> {
  const environment = { REELTALLY_DATA: dataDirectory, ...proofKeyOfTests, ...given };
  const running = await startProcess('all', environment);
  return {
    ...running,
    ...inUse(running, environment),
    restart: (more = {}) => serviceOn(dataDirectory, { ...given, ...more }),
    [Symbol.asyncDispose]: async () => {
      await running.stop();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}

/** @param environment its own; where it listens and keeps its data is in its data directory too */
export function inUse(
  started: Running,
  environment: Environment = { REELTALLY_DATA: started.dataDirectory },
): ServiceInUse {
  return {
    ...started,
    sampleUrl: (item) => `${started.samplePlatformUrl ?? ''}/watch/${item}`,
    startRole: (role, more = {}) => startProcess(role, { ...environment, ...more }),
    cli: (...words) => runCli(words, environment),
    openAccount: (plan) => openAccount(plan, environment),
  };
}

/** Above the ports of outgoing connections and of embedded servers: these may take one between its choice and its use. */
const firstPort = 61_000;
/** For each process of tests. */
const ownPorts = 500;
/** Another run at the same time begins elsewhere. */
let portsTaken = process.pid % ownPorts;

async function ownPort(): Promise<string> {
  portsTaken += 1;
  const port = firstPort + ownPorts * Number(process.env['VITEST_POOL_ID'] ?? 0) + (portsTaken % ownPorts);
  return (await isPortFree(port)) ? String(port) : await ownPort();
}

export async function startProcess(
  role: string,
  given: Environment,
  started: StartedBy = asItIs,
): Promise<ServiceProcess> {
  const environment = { PORT: await ownPort(), ...given };
  const child = spawnCommand(['serve', '--role', role, '--json'], environment, started);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const ready = await firstLine(child, exited, () => log);
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name);
  };
  const stop = async () => {
    signal('SIGCONT');
    signal('SIGTERM');
    const [code] = await exited;
    return code;
  };
  return {
    ...(JSON.parse(ready) as Started),
    pid: child.pid ?? -1,
    ended: exited.then(([code]) => code),
    log: () => log,
    stop,
    kill: async () => {
      signal('SIGKILL');
      await exited;
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

async function firstLine(child: ChildProcess, exited: Promise<[number | null]>, log: () => string): Promise<string> {
  if (!child.stdout) throw new Error('the process has no standard output');
  const lines = createInterface({ input: child.stdout });
  const line = once(lines, 'line') as Promise<[string]>;
  const first = await Promise.race([line, exited]);
  if (typeof first[0] !== 'string')
    throw new Error(`the service ended with ${String(first[0])} before it was ready:\n${log()}`);
  return first[0];
}

/** Starts the command line, for tests that do something to it while it runs. */
export function spawnCommand(words: readonly string[], environment: Environment, started: StartedBy = asItIs) {
  const [command = '', ...given] = started([...cliCommand, ...words]);
  return spawn(command, given, {
    env: environmentWith(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs one command to its end. */
export async function runCommand(
  words: readonly string[],
  environment: Environment,
  started: StartedBy = asItIs,
): Promise<Ran> {
  const child = spawnCommand(words, environment, started);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

/** A terminal that does not say how wide it is, which counts as endless. */
const unknownWidth = 0;

/** Runs one command with a terminal of its own. @returns everything that it writes there */
export async function runOnTerminal(
  words: readonly string[],
  environment: Environment,
  { columns = unknownWidth }: { columns?: number } = {},
): Promise<{ code: number | null; screen: string }> {
  const { code, screen } = startOnTerminal([...cliCommand, ...words], environment, columns);
  return { code: await code, screen: screen() };
}

export interface OnTerminal extends AsyncDisposable {
  /** Fulfilled when it has ended and everything that it wrote is here. */
  code: Promise<number | null>;
  /** Everything that it has written so far. */
  screen: () => string;
  /** What a person types; Ctrl-C is \u0003. */
  type: (keys: string) => void;
}

/** Starts a program with a terminal of its own. */
export function startOnTerminal(command: readonly string[], environment: Environment, columns = 80): OnTerminal {
  const quoted = command.map((word) => `'${word}'`).join(' ');
  const child = spawn(
    'script',
    ['--quiet', '--return', '--command', `stty cols ${String(columns)}; exec ${quoted}`, '/dev/null'],
    {
      env: environmentWith({ TERM: 'xterm', ...environment }),
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written += text));
  const code = once(child, 'close').then(([ended]) => ended as number | null);
  return {
    code,
    // The terminal goes away, and what runs on it hangs up.
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await code;
    },
    screen: () => written.replaceAll('\r\n', '\n'),
    type: (keys) => child.stdin.write(keys),
  };
}

/**
 * Runs one command to its end in a process that has run others before. Exit codes, streams and terminals of processes of their
 * own are looked at by test/docs/commands.extended.test.ts and test/cli/conventions.test.ts.
 */
export async function runInLoadedProcess(words: readonly string[], environment: Environment): Promise<Ran> {
  return await runLoaded(words, environmentWith(environment));
}

/** @throws where the command exits with another code than 0 */
export async function runCli<Answer>(words: readonly string[], environment: Environment): Promise<Answer> {
  // A clock that is wrong is loaded into a process as it starts.
  const run = environment['NODE_OPTIONS'] === undefined ? runInLoadedProcess : runCommand;
  const { code, stdout, stderr } = await run([...words, '--json'], environment);
  if (code !== 0) throw new Error(`reeltally ${words.join(' ')} ended with ${String(code)}: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

export interface OpenedAccount {
  accountId: string;
  key: string;
  keyId: string;
}

/** An account with one key; in force when it returns. */
export async function openAccount(
  plan: string,
  { NODE_OPTIONS: _, ...environment }: Environment,
): Promise<OpenedAccount> {
  const open = ['accounts', 'open', '--email', 'owner@example.com', '--plan', plan];
  const { account_id: accountId } = await runCli<{ account_id: string }>(open, environment);
  const issue = ['keys', 'issue', accountId, '--label', 'test'];
  const { key, key_id: keyId } = await runCli<{ key: string; key_id: string }>(issue, environment);
  return { accountId, key, keyId };
}

/** The environment of a process under test, which nothing of the caller's own settings reaches. */
export function environmentWith(given: Environment): Environment {
  const { PATH = '', HOME = '/nonexistent', NODE_COMPILE_CACHE = '' } = process.env;
  const engine = given['ENGINE_DIRECTORY'] === undefined ? engineOfRun() : {};
  return { PATH, HOME, NODE_COMPILE_CACHE, PORT: '0', ...engine, ...given };
}
