import { explain } from '../cli/failed-command.ts';
import { CommandFailed, type Output } from '../cli/output.ts';
import { createProgram } from '../cli/program.ts';
import { lineStart } from '../cli/progress-bar.ts';
import { createApiClient } from '../client/client.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import { roles } from './roles/role.ts';
import { readConfig, readVersion } from './settings/config.ts';
import { findApi, findSamplePlatform } from './settings/instance.ts';

/** One invocation of the program: `cli.ts` makes it from its process, tests make their own. */
interface Invocation extends Omit<Output, 'json'> {
  words: readonly string[];
  /** The environment; of the process itself, unless given. */
  variables?: NodeJS.ProcessEnv | undefined;
  /** Runs the service, to its end. @param json whether `--json` was given */
  serve: (role: string, json: boolean) => Promise<void>;
}

/** Whether these words start the service, which goes on until it is told to stop. */
export const isService = (words: readonly string[]): boolean => words.find((word) => !word.startsWith('-')) === 'serve';

/** @returns the exit code */
export async function runCommandLine({ words, variables, serve, ...screen }: Invocation): Promise<number> {
  // Read before the arguments are parsed, because errors in the arguments are answered as JSON too.
  const json = words.includes('--json');
  // The last words of a service stand beside its log, which is text or JSON by itself.
  const errorsAreJson = json && !isService(words);
  const output = { ...screen, json };
  const program = createProgram({
    version: readVersion(),
    output,
    errorsAreJson,
    // Loaded by the commands that use them.
    run: async (command, options) => {
      const { runCommand } = await import('./run-command.ts');
      await runCommand({ output, variables }, command, options);
    },
    roles,
    serve: (role) => serve(role, json),
    openApiClient: () => {
      const config = readConfig(variables);
      const key = config.REELTALLY_KEY;
      if (key === undefined) throw new CommandFailed('set REELTALLY_KEY to an API key: "npm start" prints one');
      return { api: createApiClient(findApi(config), key), newUuid };
    },
    findSamplePlatform: () => findSamplePlatform(readConfig(variables)),
    withImportTarget: async (use) => {
      const { importTarget } = await import('./import-target.ts');
      await importTarget(readConfig(variables), output)(use);
    },
    openBackups: async () => (await import('./backups/backups.ts')).createBackups(readConfig(variables)),
    inspectDownloader: async () => (await import('./engine.ts')).inspectThisDownloader(readConfig(variables)),
    engine: {
      install: async (file) => (await import('./engine.ts')).installEngine(readConfig(variables), file),
      restore: async () => (await import('./engine.ts')).restoreEngine(readConfig(variables)),
    },
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    const { message, code, exitCode } = explain(error, errorsAreJson);
    const clear = output.terminal ? lineStart : '';
    const text = errorsAreJson ? JSON.stringify({ error: { code, message } }) : `${clear}reeltally: ${message}`;
    if (message !== '') output.tell(`${text}\n`);
    return exitCode;
  }
}
