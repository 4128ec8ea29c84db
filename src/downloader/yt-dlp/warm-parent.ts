/**
 * yt-dlp takes most of its time to start. Here it is started once, and forks a child for each attempt: see `warm.py`, which
 * is the other side. Only where all namespaces are to be had; elsewhere a child could get at the process that it came from.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { withDeadline } from '../../async/deadline.ts';
import { sendSignal } from '../../system/processes.ts';
import type { Reaper } from '../sandbox/child-reaper.ts';
import type { Forked, Forker } from '../sandbox/hand-over.ts';
import { type AllNamespaces, launchParent } from '../sandbox/launch.ts';
import { runSandboxed } from '../sandbox/run-sandboxed.ts';
import { startTimeoutMs } from '../start-timeout.ts';
import type { YtDlpCommand } from './unpack.ts';

export interface WarmParent extends Forker {
  /** How many it has forked. */
  forks(): number;
  /** Fulfilled at its end, for whatever reason. */
  ended: Promise<unknown>;
  /** It ends with its last child. */
  retire(): void;
}

interface Asked {
  forked: PromiseWithResolvers<Forked>;
  exitCode: PromiseWithResolvers<number>;
}

type Child = ChildProcessByStdio<Socket, Socket, Socket>;

function spawnParent(
  { command, prefix, environment }: YtDlpCommand,
  { pluginsDirectory, namespaces }: { pluginsDirectory: string; namespaces: AllNamespaces },
): Child {
  const common = ['--ignore-config', '--no-update', '--no-cache-dir', '--no-plugin-dirs', '--quiet'];
  const own = ['--plugin-dirs', pluginsDirectory, '--ies', 'reeltally:warm', '--', 'reeltally:warm'];
  const started = launchParent([command, ...prefix, ...common, ...own], namespaces);
  const child = spawn(started.command, started.arguments, {
    cwd: '/',
    detached: true,
    env: { ...environment, PATH: '/usr/bin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'pipe', ...started.handles],
  });
  // Pipes to children are sockets.
  return child as unknown as Child;
}

/** @returns the children that it was asked for and that have not ended, by the marks of their runs */
function listen(child: Child): { ready: Promise<'ready'>; asked: Map<number, Asked> } {
  const asked = new Map<number, Asked>();
  const ready = Promise.withResolvers<'ready'>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, mark, ...words] = line.split(' ');
    const request = asked.get(Number(mark));
    if (what === 'ready') ready.resolve('ready');
    else if (what === 'forked')
      request?.forked.resolve({ leader: Number(words[0]), exitCode: request.exitCode.promise });
    else if (what === 'refused') fail(request, new Error(words.join(' ')));
    else if (what === 'ended') request?.exitCode.resolve(Number(words[0]));
  });
  return { ready: ready.promise, asked };
}

function fail(request: Asked | undefined, error: Error): void {
  request?.forked.reject(error);
  request?.exitCode.reject(error);
}

interface Place {
  pluginsDirectory: string;
  namespaces: AllNamespaces;
  reaper: Reaper;
  /** It is ended if a fork takes longer. A metadata request, which has 20 s, still starts yt-dlp by itself then. */
  forkTimeoutMs?: number;
}

/** @throws with what it says when it does not start */
export async function startWarmParent(
  ytDlp: YtDlpCommand,
  { reaper, forkTimeoutMs = 15_000, ...place }: Place,
): Promise<WarmParent> {
  const child = spawnParent(ytDlp, place);
  const ended = once(child, 'exit').catch((error: unknown) => [error]);
  const { pid } = child;
  if (pid === undefined) throw new Error(String((await ended)[0]));
  reaper.watch(pid, { mark: 0 });
  child.stdin.on('error', () => undefined);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2_000)));
  const { ready, asked } = listen(child);
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
    reaper.release(pid);
    for (const request of asked.values()) fail(request, new Error(`the parent ended: ${said.trim()}`));
  });
  const first = await withDeadline(Promise.race([ready, ended]), startTimeoutMs, () => 'too late');
  if (first !== 'ready') {
    sendSignal(-pid, 'SIGKILL');
    throw new Error(`it did not start: ${said.trim()}`);
  }
  // Only attempts keep this process alive.
  for (const each of [child, child.stdin, child.stdout, child.stderr]) each.unref();
  let forks = 0;
  return {
    namespaces: place.namespaces,
    fork: async (holder, mark) => {
      if (hasEnded || child.stdin.writableEnded) throw new Error('the parent has ended, or forks no more');
      const request: Asked = { forked: Promise.withResolvers(), exitCode: Promise.withResolvers() };
      asked.set(mark, request);
      const forget = () => void asked.delete(mark);
      request.exitCode.promise.then(forget, forget);
      forks += 1;
      child.stdin.write(`${holder} ${mark}\n`);
      return await withDeadline(request.forked.promise, forkTimeoutMs, () => {
        sendSignal(-pid, 'SIGKILL');
        throw new Error(`the parent forked nothing within ${forkTimeoutMs} ms`);
      });
    },
    forks: () => forks,
    ended,
    retire: () => child.stdin.end(),
  };
}

/** @throws when a child that has nothing to do does not do it */
export async function tryFork(
  parent: WarmParent,
  { directory, reaper }: { directory: string; reaper: Reaper },
): Promise<void> {
  const { exitCode, stderr } = await runSandboxed({
    command: parent,
    arguments: ['--ignore-config', '--version'],
    directory,
    reaper,
    searchPath: [],
    timeoutMs: startTimeoutMs,
    maxOutputBytes: 2_000,
    signal: new AbortController().signal,
    onLine: () => undefined,
  });
  if (exitCode !== 0) throw new Error(`a child that it forked ended with ${String(exitCode)}: ${stderr.trim()}`);
}

const restartMs = 60_000;

interface Warmth {
  start: () => Promise<WarmParent>;
  /** Tells whether a file of yt-dlp is another one than before. */
  fingerprint: () => Promise<string>;
  onProblem: (error: unknown) => void;
  /** Children of one parent. The layout of its memory is that of all of them: none should learn much of it for others. */
  maxForks?: number;
}

/**
 * Keeps one parent, from the first time that it is asked for. Another one takes its place after its last child, when it has
 * ended, and when a file of yt-dlp was changed.
 *
 * @returns a function that gives the parent; undefined where none starts, until another start is tried
 */
export function keepWarm({
  start,
  fingerprint,
  onProblem,
  maxForks = 500,
}: Warmth): () => Promise<WarmParent | undefined> {
  let current: { files: string; parent: Promise<WarmParent | undefined> } | undefined;
  const begin = (files: string) => {
    const parent = start().catch((error: unknown) => {
      onProblem(error);
      return undefined;
    });
    const begun = { files, parent };
    const forget = () => {
      if (current === begun) current = undefined;
    };
    void parent.then((started) => {
      if (started === undefined) setTimeout(forget, restartMs).unref();
      else void started.ended.then(forget);
    });
    return begun;
  };
  return async () => {
    const files = await fingerprint();
    const before = current;
    const parent = await before?.parent;
    const isSpent = before?.files !== files || (parent?.forks() ?? 0) >= maxForks;
    // Another attempt may have seen to it meanwhile.
    if (isSpent && current === before) {
      parent?.retire();
      current = begin(files);
    }
    current ??= begin(files);
    return await current.parent;
  };
}

/** Changes with each file of yt-dlp and of its plugins that is replaced. */
export async function fingerprintOf(files: readonly string[], directory: string): Promise<string> {
  const names = await readdir(directory, { recursive: true });
  const paths = [...files, ...names.map((name) => join(directory, name))];
  const stats = await Promise.all(paths.map((path) => stat(path)));
  return stats.map(({ ino, size, mtimeMs }) => [ino, size, mtimeMs].join()).join(' ');
}
