/**
 * One process that runs the event stores of one test file after the other, each with a folder and a port of its own. Most of
 * what a small log costs is the start of its process. A test that kills or restarts its server uses `startEventStore`.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { EndOfCatchUp } from '../../src/embedded/event-store/checkpoints.ts';
import type { Start, Stop } from './event-stores-process.ts';
import { makeDataDirectory } from './temporary-directory.ts';

export interface SharedEventStore {
  url: string;
  /** The process, which only files of the same process of tests use, one at a time. */
  pid: number;
  stop: () => Promise<void>;
}

const program = fileURLToPath(new URL('event-stores-process.ts', import.meta.url));
/** Answers come in the order of the questions. */
const awaited: PromiseWithResolvers<number>[] = [];
let child: ChildProcess | undefined;

export async function openEventStore(endOfCatchUp: EndOfCatchUp = 'last-event'): Promise<SharedEventStore> {
  const directory = makeDataDirectory();
  child ??= startProcess();
  const { pid = -1 } = child;
  const port = await ask(child, { directory, endOfCatchUp });
  const stop = async () => {
    if (child?.pid === pid) await ask(child, { ended: directory });
    await rm(directory, { recursive: true, force: true });
  };
  return { url: `esdb://127.0.0.1:${port}?tls=false`, pid, stop };
}

async function ask(process: ChildProcess, question: Start | Stop): Promise<number> {
  const answer = Promise.withResolvers<number>();
  awaited.push(answer);
  process.send(question);
  return await answer.promise;
}

/** It ends with this process, and does not keep it alive. */
function startProcess(): ChildProcess {
  const started = fork(program, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  started.on('message', (port: number) => awaited.shift()?.resolve(port));
  started.once('exit', (code, signal) => {
    child = undefined;
    const error = new Error(`The process of the shared event stores ended with ${String(code ?? signal)}.`);
    // A test that awaits nothing of it now would otherwise only see clients that wait.
    console.error(error.message);
    for (const each of awaited.splice(0)) each.reject(error);
  });
  started.unref();
  started.channel?.unref();
  return started;
}
