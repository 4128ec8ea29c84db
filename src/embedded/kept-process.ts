import { fork } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What a keeper is asked to run. No secrets: it stands on the keeper's command line. */
export interface KeeperTask {
  command: string;
  args: readonly string[];
  workingDirectory: string;
  environment: Readonly<Record<string, string>>;
  /** Another user to run as; only root may ask for one. */
  user?: { uid: number; gid: number };
  /** Asks the server to end by itself. */
  stopSignal: NodeJS.Signals;
  /** How long it may take for that before it is killed. */
  stopLimitMs: number;
}

export type KeeperReport =
  | { kind: 'started'; pid: number }
  | { kind: 'not_started'; reason: string }
  | { kind: 'ended'; code: number | null; signal: NodeJS.Signals | null };

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface KeptProcess {
  /** Of the server itself, not of its keeper. */
  readonly pid: number;
  /** What it prints. */
  readonly logFile: string;
  /** Fulfilled when the server and its keeper have ended, asked or not. Never rejected. */
  readonly exited: Promise<Exit>;
  /** Ends the server and waits until it is gone. May be called again. */
  stop(): Promise<Exit>;
}

/** A started server of the embedded kind. */
export interface RunningServer extends KeptProcess {
  /** Address with the credentials that it asks for: not for logs. */
  readonly url: string;
}

export const keeperFile = fileURLToPath(new URL('./keeper.ts', import.meta.url));

/**
 * Runs a command that does not outlive this process: see keeper.ts.
 *
 * @param logFile receives what the command prints; made if missing, appended to otherwise.
 * @throws when the command cannot be started.
 */
export async function keep(task: KeeperTask, logFile: string): Promise<KeptProcess> {
  const log = openSync(logFile, 'a', 0o600);
  const keeper = fork(keeperFile, [String(process.pid), JSON.stringify(task)], {
    detached: true,
    execArgv: [],
    // Nothing but where its sources are kept compiled, where they are.
    env: { NODE_COMPILE_CACHE: getCompileCacheDir() },
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);

  let serverPid: number | undefined;
  let exit: Exit | undefined;
  const gone = Promise.all([
    new Promise((resolve) => keeper.once('exit', resolve)),
    new Promise((resolve) => keeper.once('disconnect', resolve)),
  ]);
  const exited = gone.then((): Exit => {
    if (exit !== undefined) return exit;
    // The keeper was killed, so nobody looks after the server any more.
    if (serverPid !== undefined) endAbandoned(serverPid);
    return { code: null, signal: 'SIGKILL' };
  });

  const pid = await new Promise<number>((resolve, reject) => {
    keeper.on('message', (message) => {
      const report = message as KeeperReport;
      if (report.kind === 'started') resolve((serverPid = report.pid));
      else if (report.kind === 'ended') exit = { code: report.code, signal: report.signal };
      else reject(new Error(`${task.command} could not be started: ${report.reason}`));
    });
    keeper.once('error', reject);
    void exited.then(() => {
      reject(new Error(`The process that looks after ${task.command} ended at once:\n${lastLines(logFile)}`));
    });
  });

  const stop = (): Promise<Exit> => {
    if (keeper.connected) keeper.send('stop', () => undefined);
    return exited;
  };
  return { pid, logFile, exited, stop };
}

function endAbandoned(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}

/** The end of a log file, for error messages. */
export function lastLines(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return '';
  }
}
