/**
 * A process that has the command line loaded and runs one command after the other, which saves the second that each process of
 * its own takes to load. It is not the test's process: all connections of a process share the state of the event store's client.
 *
 * This file is also the program of that process.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Command {
  words: readonly string[];
  environment: Readonly<Record<string, string>>;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

const file = fileURLToPath(import.meta.url);
/** Commands that are not answered yet. They are answered in the order in which they were sent. */
const waiting: PromiseWithResolvers<Ran>[] = [];
let child: ChildProcess | undefined;

/** @param environment all variables that the command sees */
export async function runLoaded(words: readonly string[], environment: Command['environment']): Promise<Ran> {
  child ??= start();
  const ran = Promise.withResolvers<Ran>();
  waiting.push(ran);
  child.send({ words, environment } satisfies Command);
  return await ran.promise;
}

/** It ends with this process, and does not keep it alive. */
function start(): ChildProcess {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const started = fork(file, {
    env: { PATH, NODE_COMPILE_CACHE },
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  started.on('message', (ran: Ran) => waiting.shift()?.resolve(ran));
  started.once('exit', (code) => {
    child = undefined;
    for (const each of waiting.splice(0))
      each.reject(new Error(`the process of the commands ended with ${String(code)}`));
  });
  started.unref();
  started.channel?.unref();
  return started;
}

/** Loads the command line, which the process of the test itself does not need. */
async function run({ words, environment }: Command): Promise<Ran> {
  const { runCommandLine } = await import('../../src/main/command-line.ts');
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
    underWay = underWay.then(async () => process.send?.(await run(command)));
  });
}
