/**
 * Starts the embedded event store as a process of its own, because its synchronous storage would block other work.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../../async/deadline.ts';
import type { EndOfCatchUp } from './checkpoints.ts';

const ENTRY = fileURLToPath(new URL('./main.ts', import.meta.url));

/** On a machine with much memory, V8 would let the heap grow to several times of what is in use before it collects. */
const heapOptions = ['--max-semi-space-size=8', '--heap-growing-percent=50'];

/** Long enough to replay the write-ahead file of a large log. */
const startTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;
const mostErrorText = 4000;

export interface LaunchOptions {
  dataDirectory: string;
  /** Default: any free port. */
  port?: number;
  /** A Node that runs TypeScript files directly. */
  nodePath: string;
  /** For tests: the checkpoint that ends a subscription's catch-up. Default: that of EventStoreDB 24.2.0. */
  endOfCatchUp?: EndOfCatchUp | undefined;
}

/** @throws with its error output when the process ends before it is ready */
export async function launchEventStore({
  dataDirectory,
  port = 0,
  nodePath,
  endOfCatchUp = 'last-event',
}: LaunchOptions) {
  const child = spawn(
    nodePath,
    [
      '--disable-warning=ExperimentalWarning',
      ...heapOptions,
      ENTRY,
      ...['--data', dataDirectory, '--port', String(port), '--end-of-catch-up', endOfCatchUp, '--until-stdin-ends'],
    ],
    // A Ctrl-C in the terminal does not reach its own process group. Its standard input is a pipe that ends with this process.
    {
      detached: true,
      env: { ...process.env, NODE_COMPILE_CACHE: getCompileCacheDir() },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdin.on('error', () => undefined);
  const logFile = join(dataDirectory, 'event-store.log');
  const lastWords = keepErrors(child, dataDirectory, logFile);
  const url = await listeningUrl(child, lastWords);
  if (child.pid === undefined) throw new Error('The embedded event store has no process id.');
  return {
    url,
    pid: child.pid,
    /** Its standard error, unless the disk is full. */
    logFile,
    /** The end of its standard error, even if the disk is full. */
    lastWords,
    /** Fulfilled when the process has ended, for any reason. */
    exited,
    /** Stops it in order: it answers the requests that it has taken. May be called again. */
    stop: () => stop(child, exited),
  };
}

/** Keeps the error output in memory too, since a full disk would lose the reason of a failure. */
function keepErrors(child: ChildProcess, directory: string, file: string): () => string {
  let end = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    end = (end + chunk.toString('utf8')).slice(-mostErrorText);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      appendFileSync(file, chunk, { mode: 0o600 });
    } catch {
      // The end of the output is kept in memory.
    }
  });
  return () => end.trim();
}

function listeningUrl(child: ChildProcess, errors: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (reason: string): void => {
      clearTimeout(patience);
      child.kill('SIGKILL');
      reject(new Error(`The embedded event store did not start: ${errors() || reason}`));
    };
    const patience = setTimeout(() => fail(`not ready after ${startTimeoutMs} ms`), startTimeoutMs);
    child.stdout?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString('utf8')).slice(0, mostErrorText);
      const line = /^\{"listening":"([^"]+)"\}$/m.exec(output);
      if (line?.[1] === undefined) return;
      clearTimeout(patience);
      resolve(line[1]);
    });
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => fail(`it ended with ${code ?? signal}`));
  });
}

async function stop(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.stdin?.end();
  child.kill('SIGTERM');
  await withDeadline(exited, stopTimeoutMs, () => child.kill('SIGKILL'));
  await exited;
}
