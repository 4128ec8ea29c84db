import { endWithReader } from '../cli/failed-command.ts';
import { startScreen } from '../cli/start-screen.ts';
import { runCommandLine } from './command-line.ts';
import type { Role } from './roles/role.ts';
import { readConfig } from './settings/config.ts';

/** Read here because the rest takes a second to load, in which the process that started this one may end. */
const parentPid = process.ppid;

async function serve(role: Role | 'all', json: boolean): Promise<void> {
  const screen = startScreen({ json, stdout: process.stdout });
  // Loaded here: it is most of the program, and no other command needs it.
  const service = await import('./serve.ts');
  process.exitCode = await service.serve(readConfig(), { role, parentPid, ...screen });
  screen.stopped();
  // A handle that a library left open does not keep alive a service that has stopped.
  process.exit();
}

endWithReader();
const exitCode = await runCommandLine({
  words: process.argv.slice(2),
  write: (text) => process.stdout.write(text),
  tell: (text) => process.stderr.write(text),
  terminal: process.stderr.isTTY,
  columns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined,
  serve: (role, json) => serve(role as Role | 'all', json),
});
if (exitCode !== 0) process.exit(exitCode);
