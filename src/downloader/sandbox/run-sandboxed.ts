import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withDeadline } from '../../async/deadline.ts';
import { until } from '../../async/until.ts';
import type { ChildEnding, ChildObserver } from '../../ports/observers.ts';
import { randomBits } from '../../system/clock-and-chance.ts';
import { listProcesses, sendSignal } from '../../system/processes.ts';
import type { Reaper } from './child-reaper.ts';
import { type Forker, handOver } from './hand-over.ts';
import { launch, launchHolder, type Namespaces } from './launch.ts';
import { endMarked, markVariable } from './marked-processes.ts';
import { type OutputLimits, watchOutput } from './watch-printed-lines.ts';
import { kernelLimits, type ResourceLimits, watchUse } from './watch-resources.ts';

export interface SandboxedProcess extends ResourceLimits, OutputLimits {
  /** A program, or what forks the child, whose namespaces it then has. */
  command: string | Forker;
  arguments: readonly string[];
  /** The child's whole PATH. Nothing of our own environment reaches it. */
  searchPath: readonly string[];
  /** Open files that the command inherits as file descriptors from 3 on, if there are no namespaces. */
  handles?: readonly number[];
  /** Variables that the command itself needs. */
  environment?: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** Between SIGTERM and SIGKILL. Default: 0.7 s; both tools stop within 40 ms of SIGTERM unless they hang. */
  graceMs?: number;
  /** The child's namespaces; default none. */
  namespaces?: Namespaces | undefined;
  reaper: Reaper;
  observer?: ChildObserver | undefined;
}

/**
 * `traffic_spent`: the child failed after it had used up its traffic allowance. `route_failed`: it failed, and the operator's proxy
 * or source address could not be used.
 */
export type ProcessEnding = ChildEnding | 'traffic_spent' | 'route_failed';

export interface ProcessResult {
  ending: ProcessEnding;
  exitCode: number | null;
  /** The last 64 KiB of standard error. */
  stderr: string;
}

const defaultGraceMs = 700;
/** After SIGKILL, for pipes that a process outside the group may still hold. */
const closeMs = 1000;
/** After that, for the rest of the group. */
const sweepMs = 500;

/** Resolves when the child and its pipes have ended, at the latest `closeMs` after `killed` is settled. */
async function closed(child: ChildProcess, killed: Promise<unknown>): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const givenUp = killed.then(() => withDeadline(ended, closeMs, () => null));
  const code = await Promise.race([ended, givenUp]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return code;
}

/** Ends what is left of a group and waits, briefly, until it is gone. Zombies are gone: init may take notice of them late. */
async function sweepGroup(leader: number): Promise<void> {
  await until(() => !sendSignal(-leader, 'SIGKILL') || !isAlive(leader), { limitMs: sweepMs });
}

const isAlive = (leader: number): boolean =>
  listProcesses().some(({ group, state }) => group === leader && state !== 'Z');

/** One of the programs that start the child has reported that it failed to. */
function neverStarted({ exitCode, stderr }: Pick<ProcessResult, 'exitCode' | 'stderr'>): boolean {
  return (
    exitCode !== 0 && /^(?:The child could not be put into its place\.|(?:nsenter|unshare|setpriv): .*)$/m.test(stderr)
  );
}

/**
 * Runs one program as a process group of its own, with none of our environment, bounded in time, output and disk space. No
 * process of the run is left behind, however it ends. Never throws for anything that the child does.
 */
export async function runSandboxed(run: SandboxedProcess): Promise<ProcessResult> {
  const nothing: ProcessResult = { ending: 'aborted', exitCode: null, stderr: '' };
  const [home, temporary] = [join(run.directory, 'home'), join(run.directory, 'tmp')];
  for (const directory of [home, temporary]) await mkdir(directory, { recursive: true, mode: 0o700 });
  const { command } = run;
  const forker = typeof command === 'string' ? undefined : command;
  const namespaces: Namespaces = forker?.namespaces ?? run.namespaces ?? {};
  const owner = await namespaces.users?.of(run.directory);
  // From here until the signal is listened to, nothing is waited for.
  if (run.signal.aborted) return nothing;
  /** From its start on, and all its processes are of this run. */
  const user = namespaces.users?.shared === undefined ? owner : undefined;
  const mark = randomBits(6).readUIntBE(0, 6) + 1;
  const limits = kernelLimits(run);
  const started =
    typeof command === 'string'
      ? launch({ ...run, command, namespaces, limits, mark })
      : launchHolder({ ...run, namespaces: command.namespaces, limits, mark });
  const own = { PATH: run.searchPath.join(':'), HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' };
  const environment = { ...run.environment, ...own, [markVariable]: String(mark) };
  const child = spawn(started.command, started.arguments, {
    cwd: run.directory,
    detached: true,
    env: environment,
    stdio:
      forker === undefined
        ? ['ignore', 'pipe', 'pipe', ...started.handles, ...(run.handles ?? [])]
        : ['pipe', 'pipe', 'pipe', ...started.handles, 'pipe'],
    // libuv drops all further groups when it is given a user.
    ...user,
  });
  const { pid } = child;
  if (pid === undefined) {
    const reason = await new Promise<Error>((resolve) => child.once('error', resolve));
    run.observer?.childStarted();
    run.observer?.childEnded('not_started');
    return { ...nothing, ending: 'not_started', stderr: reason.message };
  }
  const marked = { mark, uid: user?.uid };
  run.reaper.watch(pid, marked);
  run.observer?.childStarted();
  // Failed signals are reported here later; the group is ended by other means then.
  child.on('error', () => undefined);
  const killed = Promise.withResolvers<undefined>();
  /** The groups of the run: that of the process started here, and that of a child forked elsewhere. */
  const leaders = [pid];
  const signal = (name: NodeJS.Signals) => {
    for (const leader of leaders) sendSignal(-leader, name);
  };
  const kill = () => {
    signal('SIGKILL');
    // The kernel ends a namespace with its first process. Without one, processes that left the group have to be searched for.
    const rest = namespaces.unshare === undefined ? endMarked(marked) : Promise.resolve();
    rest.then(() => killed.resolve(undefined), killed.reject);
  };
  let ending = 'exited' as ChildEnding;
  let problem = '';
  let grace: NodeJS.Timeout | undefined;
  const end = (why: ChildEnding) => {
    if (ending !== 'exited') return;
    ending = why;
    signal('SIGTERM');
    grace = setTimeout(kill, run.graceMs ?? defaultGraceMs);
  };
  const onAbort = () => end('aborted');
  run.signal.addEventListener('abort', onAbort);
  const timer = setTimeout(() => end('timed_out'), run.timeoutMs);
  const stopped = new AbortController();
  const stderr = watchOutput(run, child, () => end('output_flood'));
  const watching = watchUse(run, { leaders, uid: user?.uid, stopped: stopped.signal }, end);
  if (forker !== undefined) {
    const job = {
      arguments: run.arguments,
      directory: run.directory,
      environment,
      user: owner?.uid,
      filter: namespaces.filter?.program,
    };
    const lost = (why: ChildEnding) => (error: unknown) => {
      if (ending === 'exited') [ending, problem] = [why, String(error)];
    };
    void handOver(child, { forker, mark, job }).then((forked) => {
      if (forked === undefined) return;
      leaders.push(forked.leader);
      void forked.exitCode.catch(lost('cut_off')).then(() => leaders.pop());
      if (ending !== 'exited') signal('SIGTERM');
    }, lost('not_started'));
  }
  // Processes that outlive the leader serve nobody, and would keep the pipes open.
  child.once('exit', kill);
  const exitCode = await closed(child, killed.promise);
  clearTimeout(timer);
  clearTimeout(grace);
  run.signal.removeEventListener('abort', onAbort);
  stopped.abort();
  await Promise.all([...leaders.map(sweepGroup), killed.promise]);
  run.reaper.release(pid);
  // The last measurement is made after the child's end.
  await watching;
  if (ending === 'exited' && neverStarted({ exitCode, stderr: stderr() })) ending = 'not_started';
  clearTimeout(grace);
  run.observer?.childEnded(ending);
  return { ending, exitCode, stderr: stderr() + problem };
}
