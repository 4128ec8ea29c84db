import { Argument, Command, Option } from 'commander';
import { issueCommand, listCommand, revokeCommand } from '../cli/keys.ts';
import type { Output } from '../cli/output.ts';
import { explainUrlCommand } from '../cli/urls.ts';
import { showStreamCommand } from '../cli/log.ts';
import { rebuildCommand, rebuildableNames, statusCommand } from '../cli/projections.ts';
import { addAccountCommands } from './account-commands.ts';
import { accountIdArgument, referenceArgument, wholeArgument, wholeTableMs } from './arguments.ts';
import { readConfig, readVersion } from './settings/config.ts';
import { findSamplePlatform } from './settings/instance.ts';
import { addInvoiceCommands } from './invoice-commands.ts';
import { addJobCommands } from './job-commands.ts';
import { addLedgerCommands } from './ledger-commands.ts';
import { roles } from './roles/role.ts';
import type { Role } from './roles/role.ts';
import { addDownloadCommand } from './download-command.ts';
import { lineStart } from '../cli/progress-bar.ts';
import { startScreen } from './start-screen.ts';
import { endWithReader, explain } from './endings.ts';
import { help } from './help.ts';
import type { runCommand as RunCommand } from './run-command.ts';

/** Read here because the rest takes a second to load, in which the one who started this may end. */
const parentPid = process.ppid;

/** Known before the words are read, because what is wrong with them is told as JSON too. */
const isJson = process.argv.includes('--json');
/** What a service says last is read beside its log. */
const isService = process.argv.slice(2).find((word) => !word.startsWith('-')) === 'serve';
const saysJson = isJson && !isService;

/** The one program: `reeltally serve` runs the service, everything else asks or tells a running one. */
function createProgram(): Command {
  const program = new Command('reeltally')
    .description('A metered video-download API whose every cent can be audited.')
    .option('--json', 'answer with one JSON document, and say what is wrong in another')
    .version(readVersion(), '--version', 'print the version, and end')
    .configureHelp(help)
    .configureOutput({ writeErr: saysJson ? () => undefined : (text) => process.stderr.write(text) })
    .showHelpAfterError('(add --help for what it takes)')
    .exitOverride();

  program
    .command('serve')
    .description('run the service: one role as a process of its own, or all with the engines they need')
    .addOption(new Option('--role <role>', 'which part').choices([...roles, 'all']).default('all'))
    .action(async ({ role }: { role: Role | 'all' }) => {
      const screen = startScreen({ json: isJson, stdout: process.stdout });
      // Only here: it is most of the program, and no other command needs it.
      const { serve } = await import('./serve.ts');
      process.exitCode = await serve(readConfig(), { role, parentPid, ...screen });
      screen.stopped();
      // Whatever a library left open does not keep a service that has stopped.
      process.exit();
    });

  addDownloadCommand(program, createOutput);
  addAccountCommands(program, run);
  addKeyCommands(program);
  addJobCommands(program, run);
  addLedgerCommands(program, run);
  addLogCommands(program);
  addInvoiceCommands(program, run);
  addProjectionCommands(program);
  addUrlCommands(program);
  addEngineCommands(program);
  addHelpCommand(program);
  allowJsonEverywhere(program);
  return program;
}

/** `help ledger waive` is `ledger waive --help`. */
function addHelpCommand(program: Command): void {
  program
    .command('help')
    .description('what a command takes')
    .argument('[command...]', 'the command, such as: ledger waive')
    .action((words: string[]) => {
      let asked = program;
      for (const word of words) {
        const next = asked.commands.find((command) => command.name() === word);
        if (!next) return asked.error(`error: unknown command '${words.join(' ')}'`);
        asked = next;
      }
      asked.outputHelp();
    });
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('issue, list and revoke API keys');
  keys
    .command('issue')
    .description('issue a key and show it, once')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--label <label>', 'what the key is for', '')
    .option('--reference <reference>', 'a name of yours for it; repeated, it issues no second key', referenceArgument)
    .action((account: string, options: { label: string; reference?: string }) =>
      run((cli) => issueCommand(cli, account, options)),
    );
  keys
    .command('list')
    .description('the keys of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run((cli) => listCommand(cli, account)));
  keys
    .command('revoke')
    .description('revoke a key; when this returns, every process refuses it')
    .argument('<key_id>', 'key id, as "keys list" shows it')
    .action((keyId: string) => run((cli) => revokeCommand(cli, keyId)));
}

function addLogCommands(program: Command): void {
  program
    .command('log')
    .description('look at the log itself')
    .command('show')
    .description('the events of a stream as they are stored, those included that cannot be read')
    .argument('<stream>', 'name of the stream, without EVENTSTORE_PREFIX')
    .option('--revision <number>', 'one event alone', wholeArgument(0, Number.MAX_SAFE_INTEGER))
    .action((stream: string, options: { revision?: number }) => run((cli) => showStreamCommand(cli, stream, options)));
}

function addProjectionCommands(program: Command): void {
  const projections = program.command('projections').description('look after the read models');
  projections
    .command('status')
    .description('how far each read model is, and how fast it follows the log')
    .action(() => run(statusCommand));
  projections
    .command('rebuild')
    .description('build a read model from the log again, compare, and swap, while the service goes on')
    .addArgument(new Argument('<name>', 'which read model').choices(rebuildableNames))
    .option('--from-older-log', 'if the log was replaced by an older one: give up what was shown beyond its end')
    .action((name: string, options: { fromOlderLog?: boolean }) =>
      run((cli) => rebuildCommand(cli, name, options), { queryTimeoutMs: wholeTableMs }),
    );
}

/** These need no running service; one is asked only for where its sample platform is. */
function addUrlCommands(program: Command): void {
  const urls = program.command('urls').description('see how addresses of videos are read');
  urls
    .command('explain')
    .description('the platform, id and canonical address that an address stands for, or why it is refused')
    .argument('<url>', 'the address, as a client would send it')
    .action((url: string) => {
      explainUrlCommand({ output: createOutput(), samplePlatformOrigin: findSamplePlatform(readConfig()) }, url);
    });
}

/** They need no engine of the service: they look at this machine alone. */
function addEngineCommands(program: Command): void {
  program
    .command('engine')
    .description('what downloads are made with')
    .command('show')
    .description(
      'versions, age and checksums of yt-dlp, ffmpeg and ffprobe, and which guards hold them on this machine',
    )
    .action(async () => {
      const { showEngine } = await import('./show-engine.ts');
      await showEngine(createOutput());
    });
}

/** `--json` may stand in front of a command or behind it. */
function allowJsonEverywhere(program: Command): void {
  for (const child of program.commands) {
    child.exitOverride();
    if (child.commands.length > 0) allowJsonEverywhere(child);
    else child.option('--json', 'answer with one JSON document');
  }
}

function createOutput(): Output {
  return {
    json: isJson,
    write: (text) => process.stdout.write(text),
    tell: (text) => process.stderr.write(text),
    terminal: process.stderr.isTTY,
    columns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined,
  };
}

/** What reaches the engines is loaded by the commands that do. */
async function run(
  command: Parameters<typeof RunCommand>[1],
  options?: Parameters<typeof RunCommand>[2],
): Promise<void> {
  const { runCommand } = await import('./run-command.ts');
  await runCommand(createOutput(), command, options);
}

try {
  endWithReader();
  await createProgram().parseAsync();
} catch (error) {
  const { message, code, exitCode } = explain(error, saysJson);
  const clear = process.stderr.isTTY ? lineStart : '';
  if (message !== '')
    process.stderr.write(
      saysJson ? `${JSON.stringify({ error: { code, message } })}\n` : `${clear}reeltally: ${message}\n`,
    );
  process.exit(exitCode);
}
