import { fork } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { fileURLToPath } from 'node:url';
import { until } from '../async/until.ts';
import { sendSignal } from '../system/processes.ts';
import { freePort, isPortFree } from './free-port.ts';

/** The server that a reaper runs. No secrets: the task stands on the reaper's command line. */
export interface ServerTask {
  command: string;
  args: readonly string[];
  workingDirectory: string;
  environment: Readonly<Record<string, string>>;
  /** Another user to run as; only root may ask for one. */
  user?: { uid: number; gid: number };
  /** Asks the server to end by itself. */
  stopSignal: NodeJS.Signals;
  /** How long the server may take to end before it is killed. */
  stopLimitMs: number;
}

export type ReaperReport =
  | { kind: 'started'; pid: number }
  | { kind: 'not_started'; reason: string }
  | { kind: 'ended'; code: number | null; signal: NodeJS.Signals | null };

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/** An embedded server that is ready. */
export interface RunningServer extends ServerProcess {
  /** Address with the credentials that it asks for: not for logs. */
  readonly url: string;
}

export const reaperFile = fileURLToPath(new URL('./server-reaper.ts', import.meta.url));

/**
 * Runs a server that does not outlive this process: see server-reaper.ts.
 *
 * @param logFile receives the server's output; made if missing, appended to otherwise.
 * @throws when the command cannot be started.
 */
export async function startServerProcess(task: ServerTask, logFile: string) {
  const log = openSync(logFile, 'a', 0o600);
  const reaper = fork(reaperFile, [String(process.pid), JSON.stringify(task)], {
    detached: true,
    execArgv: [],
    // Of our environment, only the directory of compiled sources, if there is one.
    env: { NODE_COMPILE_CACHE: getCompileCacheDir() },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);

  let serverPid: number | undefined;
  let exit: Exit | undefined;
  const gone = Promise.all([
    new Promise((resolve) => reaper.once('exit', resolve)),
    new Promise((resolve) => reaper.once('disconnect', resolve)),
  ]);
  const exited = gone.then((): Exit => {
    if (exit !== undefined) return exit;
    // The reaper was killed before its server.
    if (serverPid !== undefined) sendSignal(serverPid, 'SIGKILL');
    return { code: null, signal: 'SIGKILL' };
  });

  const pid = await new Promise<number>((resolve, reject) => {
    reaper.on('message', (message) => {
      const report = message as ReaperReport;
      if (report.kind === 'started') resolve((serverPid = report.pid));
      else if (report.kind === 'ended') exit = { code: report.code, signal: report.signal };
      else reject(new Error(`${task.command} could not be started: ${report.reason}`));
    });
    reaper.once('error', reject);
    void exited.then(() => {
      reject(new Error(`The reaper of ${task.command} ended at once:\n${lastLines(logFile)}`));
    });
  });

  return {
    /** The server's, not its reaper's. */
    pid,
    /** The server's output. */
    logFile,
    /** Fulfilled when the server and its reaper have ended, asked or not. Never rejected. */
    exited,
    /** Ends the server and waits until it is gone. May be called again. */
    stop: (): Promise<Exit> => {
      if (reaper.connected) reaper.send('stop', () => undefined);
      return exited;
    },
  };
}

const startAttempts = 5;

/**
 * Starts a server on a port, or on a free one if none is given, and waits until it is ready.
 *
 * @param isReady polled until it holds, the server has ended, or the time limit is over
 * @throws with the end of the server's log if it does not become ready
 */
export async function startOnPort(options: {
  name: string;
  dataDirectory: string;
  port: number | undefined;
  start: (port: number) => Promise<ServerProcess>;
  isReady: (server: ServerProcess, port: number) => boolean | Promise<boolean>;
  readyLimitMs: number;
  signal?: AbortSignal | undefined;
}): Promise<{ server: ServerProcess; port: number }> {
  const { name, dataDirectory, start, isReady, readyLimitMs, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const server = await start(port);
    if (await becomesReady(server, () => isReady(server, port), { limitMs: readyLimitMs, signal }))
      return { server, port };
    await server.stop();
    signal?.throwIfAborted();
    // Another process may have taken the free port meanwhile; then another port is tried.
    const lostPort = options.port === undefined && !(await isPortFree(port));
    if (lostPort && attempt < startAttempts) continue;
    throw new Error(`${name} did not start on ${dataDirectory}. The end of its log:\n${lastLines(server.logFile)}`);
  }
}

async function becomesReady(
  server: ServerProcess,
  isReady: () => boolean | Promise<boolean>,
  { limitMs, signal }: { limitMs: number; signal: AbortSignal | undefined },
): Promise<boolean> {
  let ended = false;
  let ready = false;
  void server.exited.then(() => (ended = true));
  const isOver = async () => {
    ready = !ended && (await isReady());
    return ready || ended || signal?.aborted === true;
  };
  await until(isOver, { limitMs });
  return ready;
}

/** The end of a log file, for error messages. */
export function lastLines(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return '';
  }
}
