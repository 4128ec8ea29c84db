/**
 * A process that has the command line loaded and runs one command after the other, which saves the second that each process of
 * its own takes to load. It is not the test's process: all connections of a process share the state of the event store's client.
 *
 * This file is also the program of that process.
 */

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../src/main/command-line.ts';

interface Command {
  id: number;
  words: readonly string[];
  environment: Readonly<Record<string, string>>;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

const file = fileURLToPath(import.meta.url);
const waiting = new Map<number, PromiseWithResolvers<Ran>>();
let child: ChildProcess | undefined;

/** @param environment all variables that the command sees */
export async function runLoaded(words: readonly string[], environment: Command['environment']): Promise<Ran> {
  child ??= start();
  const ran = Promise.withResolvers<Ran>();
  const id = waiting.size === 0 ? 0 : Math.max(...waiting.keys()) + 1;
  waiting.set(id, ran);
  child.send({ id, words, environment } satisfies Command);
  return await ran.promise;
}

/** It ends with this process, and does not keep it alive. */
function start(): ChildProcess {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const started = fork(file, {
    env: { PATH, NODE_COMPILE_CACHE },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  started.on('message', ({ id, ...ran }: Ran & { id: number }) => {
    waiting.get(id)?.resolve(ran);
    waiting.delete(id);
  });
  started.once('exit', (code) => {
    child = undefined;
    for (const each of waiting.values())
      each.reject(new Error(`the process of the commands ended with ${String(code)}`));
    waiting.clear();
  });
  started.unref();
  started.channel?.unref();
  return started;
}

async function run({ words, environment }: Command): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine({
    words,
    variables: environment,
    write: (text) => void (stdout += text),
    tell: (text) => void (stderr += text),
    terminal: false,
    columns: undefined,
    serve: () => Promise.reject(new Error('A service is started as a process of its own.')),
  });
  return { code, stdout, stderr };
}

if (process.argv[1] === file) {
  let underWay: Promise<unknown> = Promise.resolve();
  process.on('message', (command: Command) => {
    underWay = underWay.then(async () => process.send?.({ id: command.id, ...(await run(command)) }));
  });
}
