import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

import type { ChildObserver } from '../commands/observers.ts';
import type { Keeper } from './contained-process-keeper.ts';
import { directorySizeBytes } from './directory-size.ts';

export interface ContainedProcess {
  command: string;
  arguments: readonly string[];
  /** Belongs to this run: the child's working directory; HOME and TMPDIR lie in it. */
  directory: string;
  /** The child's whole PATH. Nothing of our own environment reaches it. */
  searchPath: readonly string[];
  /** Variables that the command itself needs. */
  environment?: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
  /** The child is killed when the directory holds more than this on disk. */
  maxDirectoryBytes?: number;
  /** The child is killed when it prints more than this, on either stream. */
  maxOutputBytes: number;
  /** Takes each line of standard output, without its end; longer lines than `maxLineBytes` are left out. */
  onLine: (line: string) => void;
  keeper: Keeper;
  observer?: ChildObserver | undefined;
}

/** Why the child is no more; `exited` is the only one in which it ended by itself. */
export type ProcessEnding = 'exited' | 'not_started' | 'aborted' | 'timed_out' | 'directory_full' | 'output_flood';

export interface ProcessResult {
  ending: ProcessEnding;
  exitCode: number | null;
  /** The last 64 KiB of standard error. */
  stderr: string;
}

const maxLineBytes = 256 * 1024;
const keptStderrBytes = 64 * 1024;
const directoryPollMs = 250;
/** Between SIGTERM and SIGKILL. Both tools stop within 40 ms of SIGTERM unless they hang. */
const graceMs = 700;
/** After SIGKILL, for pipes that something outside the group may still hold. */
const closeMs = 1000;

/** Signals a whole process group. @returns whether anything was left in it. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

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
  const givenUp = killed.then(() => sleep(closeMs, null, { ref: false }));
  const code = await Promise.race([ended, givenUp]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return code;
}

/** Ends what is left of a group and waits, briefly, until it is gone. */
async function sweepGroup(leader: number): Promise<void> {
  for (let attempt = 0; attempt < 50 && signalGroup(leader, 'SIGKILL'); attempt += 1) await sleep(10);
}

function watchOutput(run: ContainedProcess, child: ChildProcess, flooded: () => void): () => string {
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

/** Asks for the directory's size until `stopped`; calls `full` once it is over the limit. */
async function watchDirectory(run: ContainedProcess, stopped: AbortSignal, full: () => void): Promise<void> {
  while (run.maxDirectoryBytes !== undefined && !stopped.aborted) {
    if ((await directorySizeBytes(run.directory)) > run.maxDirectoryBytes) full();
    await sleep(directoryPollMs, undefined, { signal: stopped }).catch(() => undefined);
  }
}

/**
 * Runs one program as a process group of its own, with nothing of our environment, bounded in time, output and disk, and
 * leaves no process of it behind, however it ends. Never throws for anything that the child does.
 */
export async function runContained(run: ContainedProcess): Promise<ProcessResult> {
  const nothing: ProcessResult = { ending: 'aborted', exitCode: null, stderr: '' };
  const [home, temporary] = [join(run.directory, 'home'), join(run.directory, 'tmp')];
  for (const directory of [home, temporary]) await mkdir(directory, { recursive: true, mode: 0o700 });
  if (run.signal.aborted) return nothing;
  const child = spawn(run.command, run.arguments, {
    cwd: run.directory,
    detached: true,
    env: { ...run.environment, PATH: run.searchPath.join(':'), HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) {
    const reason = await new Promise<Error>((resolve) => child.once('error', resolve));
    return { ...nothing, ending: 'not_started', stderr: reason.message };
  }
  run.keeper.watch(pid);
  run.observer?.childStarted();
  // Failures to signal show up here later; the group is ended by other means then.
  child.on('error', () => undefined);
  const killed = Promise.withResolvers<undefined>();
  const kill = () => {
    signalGroup(pid, 'SIGKILL');
    killed.resolve(undefined);
  };
  let ending: ProcessEnding = 'exited';
  let grace: NodeJS.Timeout | undefined;
  const end = (why: ProcessEnding) => {
    if (ending !== 'exited') return;
    ending = why;
    signalGroup(pid, 'SIGTERM');
    grace = setTimeout(kill, graceMs);
  };
  const onAbort = () => end('aborted');
  run.signal.addEventListener('abort', onAbort);
  const timer = setTimeout(() => end('timed_out'), run.timeoutMs);
  const stopped = new AbortController();
  const stderr = watchOutput(run, child, () => end('output_flood'));
  const watching = watchDirectory(run, stopped.signal, () => end('directory_full'));
  // What the leader leaves behind has nobody left to work for, and would keep the pipes open.
  child.once('exit', kill);
  const exitCode = await closed(child, killed.promise);
  clearTimeout(timer);
  clearTimeout(grace);
  run.signal.removeEventListener('abort', onAbort);
  stopped.abort();
  await sweepGroup(pid);
  run.keeper.release(pid);
  run.observer?.childEnded(ending);
  await watching;
  return { ending, exitCode, stderr: stderr() };
}
