import { createApiClient } from '../client/client.ts';
import { endWithReader, explain } from '../cli/endings.ts';
import { CommandFailed } from '../cli/output.ts';
import type { Output } from '../cli/output.ts';
import { createProgram } from '../cli/program.ts';
import { lineStart } from '../cli/progress-bar.ts';
import { startScreen } from '../cli/start-screen.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import { roles } from './roles/role.ts';
import type { Role } from './roles/role.ts';
import { readConfig, readVersion } from './settings/config.ts';
import { findApi, findSamplePlatform } from './settings/instance.ts';

/** Read here because the rest takes a second to load, in which the process that started this one may end. */
const parentPid = process.ppid;

/** Read before the arguments are parsed, because errors in the arguments are answered as JSON too. */
const isJson = process.argv.includes('--json');
/** The last words of a service stand beside its log, which is text or JSON by itself. */
const isService = process.argv.slice(2).find((word) => !word.startsWith('-')) === 'serve';
const errorsAreJson = isJson && !isService;

const output: Output = {
  json: isJson,
  write: (text) => process.stdout.write(text),
  tell: (text) => process.stderr.write(text),
  terminal: process.stderr.isTTY,
  columns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined,
};

async function serve(role: Role | 'all'): Promise<void> {
  const screen = startScreen({ json: isJson, stdout: process.stdout });
  // Loaded here: it is most of the program, and no other command needs it.
  const service = await import('./serve.ts');
  process.exitCode = await service.serve(readConfig(), { role, parentPid, ...screen });
  screen.stopped();
  // A handle that a library left open does not keep alive a service that has stopped.
  process.exit();
}

const program = createProgram({
  version: readVersion(),
  output,
  errorsAreJson,
  // Loaded by the commands that use them.
  run: async (...given) => {
    const { runCommand } = await import('./run-command.ts');
    await runCommand(output, ...given);
  },
  roles,
  serve: (role) => serve(role as Role | 'all'),
  openApiClient: () => {
    const config = readConfig();
    const key = config.REELTALLY_KEY;
    if (key === undefined) throw new CommandFailed('set REELTALLY_KEY to an API key: "npm start" prints one');
    return { api: createApiClient(findApi(config), key), newUuid };
  },
  findSamplePlatform: () => findSamplePlatform(readConfig()),
  inspectEngine: async () => (await import('./inspect-engine.ts')).inspectThisEngine(),
});

try {
  endWithReader();
  await program.parseAsync();
} catch (error) {
  const { message, code, exitCode } = explain(error, errorsAreJson);
  const clear = process.stderr.isTTY ? lineStart : '';
  const text = errorsAreJson ? JSON.stringify({ error: { code, message } }) : `${clear}reeltally: ${message}`;
  if (message !== '') process.stderr.write(`${text}\n`);
  process.exit(exitCode);
}
