import { endWithReader } from '../cli/failed-command.ts';
import { startScreen } from '../cli/start-screen.ts';
import { isService, runCommandLine } from './command-line.ts';
import { doNotWaitFor, handOver } from './log-output.ts';
import type { Role } from './roles/role.ts';
import { readConfig } from './settings/config.ts';

/** Read here because the rest takes a second to load, in which the process that started this one may end. */
const parentPid = process.ppid;

const outputs = [process.stdout, process.stderr];
const words = process.argv.slice(2);
/** A command waits for whoever reads its output. */
const handOverLimitMs = isService(words) ? 1_000 : Infinity;

async function end(exitCode?: number): Promise<never> {
  await Promise.all(outputs.map((output) => handOver(output, handOverLimitMs)));
  process.exit(exitCode);
}

async function serve(role: Role | 'all', json: boolean): Promise<void> {
  outputs.forEach(doNotWaitFor);
  const screen = startScreen({ json, stdout: process.stdout });
  // Loaded here: it is most of the program, and no other command needs it.
  const service = await import('./serve.ts');
  process.exitCode = await service.serve(readConfig(), { role, parentPid, ...screen });
  screen.stopped();
  // A handle that a library left open does not keep alive a service that has stopped.
  await end();
}

endWithReader();
const exitCode = await runCommandLine({
  words,
  write: (text) => process.stdout.write(text),
  tell: (text) => process.stderr.write(text),
  terminal: process.stderr.isTTY,
  columns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined,
  serve: (role, json) => serve(role as Role | 'all', json),
});
if (exitCode !== 0) await end(exitCode);
