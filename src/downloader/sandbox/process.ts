import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

import type { ChildEnding, ChildObserver } from '../../ports/observers.ts';
import { launch } from './launch.ts';
import type { Namespaces, ProcessLimits } from './launch.ts';
import type { Reaper } from './child-reaper.ts';
import { endMarked, markVariable } from './marked-processes.ts';
import { measureDirectory, memoryBytes, namelessBytes, processesOf } from './resource-use.ts';
import { randomBits } from '../../system/clock-and-chance.ts';
import { familyOf, listProcesses, sendSignal } from '../../system/processes.ts';
import { sleep } from '../../async/sleep.ts';
import { until } from '../../async/until.ts';
import { withDeadline } from '../../async/deadline.ts';

export interface SandboxedProcess {
  command: string;
  arguments: readonly string[];
  /** The child's working directory, which belongs to this run alone; HOME and TMPDIR are inside it. */
  directory: string;
  /** The child's whole PATH. Nothing of our own environment reaches it. */
  searchPath: readonly string[];
  /** Open files that the command inherits as file descriptors from 3 on, if there are no namespaces. */
  handles?: readonly number[];
  /** Variables that the command itself needs. */
  environment?: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
  /** The child's namespaces; default none. */
  namespaces?: Namespaces | undefined;
  /** The directory never holds more than this on disk; the child is killed a little before. */
  maxDirectoryBytes?: number;
  /** For the child and all its descendants together; one process may have half of it. */
  maxMemoryBytes?: number;
  /** The child is killed when it prints more than this, on either stream. */
  maxOutputBytes: number;
  /** Takes each line of standard output, without its end. Lines beyond `maxLineBytes` are dropped. */
  onLine: (line: string) => void;
  reaper: Reaper;
  observer?: ChildObserver | undefined;
}

/** `traffic_spent`: the child failed after it had used up its traffic allowance. */
export type ProcessEnding = ChildEnding | 'traffic_spent';

export interface ProcessResult {
  ending: ProcessEnding;
  exitCode: number | null;
  /** The last 64 KiB of standard error. */
  stderr: string;
}

const maxLineBytes = 256 * 1024;
const keptStderrBytes = 64 * 1024;
const maxFiles = 1_000;
const maxProcesses = 64;
const defaultMemoryBytes = 4 * 1024 ** 3;
/** Room in the directory for bytes that the child writes between the last measurement and its end. */
const maxReserveBytes = 256 * 1024 * 1024;
/** The speed at which several processes together fill the page cache. */
const assumedBytesPerMs = 4_000_000;
const [minPollMs, maxPollMs] = [5, 50];
/** Listing processes costs more than measuring a directory. */
const familyPollMs = 500;
/** Between SIGTERM and SIGKILL. Both tools stop within 40 ms of SIGTERM unless they hang. */
const graceMs = 700;
/** After SIGKILL, for pipes that a process outside the group may still hold. */
const closeMs = 1000;
/** After that, for the rest of the group. */
const sweepMs = 500;

/** Calls `onLine` for each line, dropping the rest of one that grows beyond `maxLineBytes`. */
function splitLines(onLine: (line: string) => void): { take(chunk: Buffer): void; end(): void } {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let tooLong = false;
  const finish = (line: string) => {
    if (!tooLong && line !== '') onLine(line);
    tooLong = false;
  };
  return {
    take(chunk) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      rest += first;
      for (const next of others) {
        finish(rest);
        rest = next;
      }
      if (rest.length > maxLineBytes) {
        rest = '';
        tooLong = true;
      }
    },
    end: () => finish(rest),
  };
}

/** Resolves when the child and its pipes have ended, at the latest `closeMs` after `killed` is settled. */
async function closed(child: ChildProcess, killed: Promise<unknown>): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const givenUp = killed.then(() => withDeadline(ended, closeMs, () => null));
  const code = await Promise.race([ended, givenUp]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return code;
}

/** Ends what is left of a group and waits, briefly, until it is gone. */
async function sweepGroup(leader: number): Promise<void> {
  await until(() => !sendSignal(-leader, 'SIGKILL'), { limitMs: sweepMs });
}

function watchOutput(run: SandboxedProcess, child: ChildProcess, flooded: () => void): () => string {
  let stderr = Buffer.alloc(0);
  let outputBytes = 0;
  const count = (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes > run.maxOutputBytes) flooded();
    return outputBytes <= run.maxOutputBytes;
  };
  const lines = splitLines(run.onLine);
  child.stdout?.on('data', (chunk: Buffer) => {
    if (count(chunk)) lines.take(chunk);
  });
  child.stdout?.on('end', () => {
    lines.end();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (count(chunk)) stderr = Buffer.concat([stderr, chunk]).subarray(-keptStderrBytes);
  });
  return () => stderr.toString('utf8');
}

/** Measures the child's use of resources until `stopped`, and once more; calls `over` for each limit that it exceeds. */
async function watchUse(
  run: SandboxedProcess,
  { leader, uid, stopped }: { leader: number; uid: number | undefined; stopped: AbortSignal },
  over: (what: ChildEnding) => void,
): Promise<void> {
  const { maxDirectoryBytes = Infinity, maxMemoryBytes = defaultMemoryBytes } = run;
  const allowedBytes = maxDirectoryBytes - Math.min(maxDirectoryBytes / 2, maxReserveBytes);
  let family = [leader];
  let lookedMs = performance.now();
  for (let last = false; !last;) {
    last = stopped.aborted;
    const { bytesOnDisk, entries } = await measureDirectory(run.directory, maxFiles);
    const leftBytes = allowedBytes - bytesOnDisk - namelessBytes(family);
    if (leftBytes < 0) over('directory_full');
    if (entries > maxFiles) over('too_many_files');
    if (!last && performance.now() - lookedMs > familyPollMs) {
      family = uid === undefined ? familyOf(leader, listProcesses()) : processesOf(uid);
      if (family.length > maxProcesses) over('too_many_processes');
      if (memoryBytes(family) > maxMemoryBytes) over('memory_full');
      lookedMs = performance.now();
    }
    // The less room is left, the more often it is measured.
    const pollMs = Math.min(Math.max(leftBytes / assumedBytesPerMs / 2, minPollMs), maxPollMs);
    await sleep(pollMs, stopped);
  }
}

/** The limits that the kernel enforces. They are exact, and each holds for one process or one file. */
function kernelLimits({ maxDirectoryBytes, maxMemoryBytes, timeoutMs }: SandboxedProcess): ProcessLimits {
  return {
    ...(maxDirectoryBytes !== undefined && { maxFileBytes: maxDirectoryBytes }),
    maxMemoryBytes: (maxMemoryBytes ?? defaultMemoryBytes) / 2,
    // Enough for four processors at a time; the timeout ends anything longer.
    maxProcessorSeconds: (timeoutMs / 1000) * 4 + 1,
  };
}

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
  if (run.signal.aborted) return nothing;
  const { namespaces = {} } = run;
  const user = await namespaces.users?.of(run.directory);
  const mark = randomBits(6).readUIntBE(0, 6) + 1;
  const started = launch({ ...run, namespaces, limits: kernelLimits(run), mark });
  const own = { PATH: run.searchPath.join(':'), HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' };
  const child = spawn(started.command, started.arguments, {
    cwd: run.directory,
    detached: true,
    env: { ...run.environment, ...own, [markVariable]: String(mark) },
    stdio: ['ignore', 'pipe', 'pipe', ...started.handles, ...(run.handles ?? [])],
    // libuv drops all further groups when it is given a user.
    ...user,
  });
  const { pid } = child;
  if (pid === undefined) {
    const reason = await new Promise<Error>((resolve) => child.once('error', resolve));
    return { ...nothing, ending: 'not_started', stderr: reason.message };
  }
  const marked = { mark, uid: user?.uid };
  run.reaper.watch(pid, marked);
  run.observer?.childStarted();
  // Failed signals are reported here later; the group is ended by other means then.
  child.on('error', () => undefined);
  const killed = Promise.withResolvers<undefined>();
  const kill = () => {
    sendSignal(-pid, 'SIGKILL');
    // The kernel ends a namespace with its first process. Without one, processes that left the group have to be searched for.
    const rest = namespaces.unshare === undefined ? endMarked(marked) : Promise.resolve();
    rest.then(() => killed.resolve(undefined), killed.reject);
  };
  let ending = 'exited' as ChildEnding;
  let grace: NodeJS.Timeout | undefined;
  const end = (why: ChildEnding) => {
    if (ending !== 'exited') return;
    ending = why;
    sendSignal(-pid, 'SIGTERM');
    grace = setTimeout(kill, graceMs);
  };
  const onAbort = () => end('aborted');
  run.signal.addEventListener('abort', onAbort);
  const timer = setTimeout(() => end('timed_out'), run.timeoutMs);
  const stopped = new AbortController();
  const stderr = watchOutput(run, child, () => end('output_flood'));
  const watching = watchUse(run, { leader: pid, uid: user?.uid, stopped: stopped.signal }, end);
  // Processes that outlive the leader serve nobody, and would keep the pipes open.
  child.once('exit', kill);
  const exitCode = await closed(child, killed.promise);
  clearTimeout(timer);
  clearTimeout(grace);
  run.signal.removeEventListener('abort', onAbort);
  stopped.abort();
  await Promise.all([sweepGroup(pid), killed.promise]);
  run.reaper.release(pid);
  // The last measurement is made after the child's end.
  await watching;
  if (ending === 'exited' && neverStarted({ exitCode, stderr: stderr() })) ending = 'not_started';
  clearTimeout(grace);
  run.observer?.childEnded(ending);
  return { ending, exitCode, stderr: stderr() };
}
