import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { acknowledgeCommand } from '../cli/acknowledge.ts';
import type { Acknowledgement } from '../cli/acknowledge.ts';
import { showJobCommand, timelineCommand } from '../cli/jobs.ts';
import { issueCommand, listCommand, revokeCommand } from '../cli/keys.ts';
import { exportCommand } from '../cli/ledger-export.ts';
import type { LedgerExport } from '../cli/ledger-export.ts';
import { ledgerCommand } from '../cli/ledger.ts';
import { CommandFailed } from '../cli/output.ts';
import type { Output } from '../cli/output.ts';
import { explainUrlCommand } from '../cli/urls.ts';
import { showStreamCommand } from '../cli/log.ts';
import { verifyCommand } from '../cli/verify.ts';
import type { VerifyOptions } from '../cli/verify.ts';
import { waiveCommand, waiveFailedCommand } from '../cli/waive.ts';
import type { FailedWaiver, Waiver } from '../cli/waive.ts';
import { failureReasonNames } from '../domain/failure-reasons.ts';
import { rebuildCommand, rebuildableNames, statusCommand } from '../cli/projections.ts';
import { addAccountCommands } from './account-commands.ts';
import {
  accountIdArgument,
  amountArgument,
  dayArgument,
  referenceArgument,
  staffTextArgument,
  wholeArgument,
} from './arguments.ts';
import { ConfigurationRefused, readConfig } from './config.ts';
import { findSamplePlatform } from './instance.ts';
import { addInvoiceCommands } from './invoice-commands.ts';
import { roles } from './role.ts';
import type { Role } from './role.ts';
import { describeStart } from './describe-start.ts';
import type { runCommand as RunCommand } from './run-command.ts';

/** Read here because the rest takes a second to load, in which the one who started this may end. */
const parentPid = process.ppid;

/** The one program: `reeltally serve` runs the service, everything else asks or tells a running one. */
function createProgram(): Command {
  const program = new Command('reeltally')
    .description('A metered video-download API whose every cent can be audited.')
    .option('--json', 'answer with one JSON document')
    .showHelpAfterError('(add --help for what it takes)')
    .exitOverride();

  program
    .command('serve')
    .description('run the service: one role as a process of its own, or all with the engines they need')
    .addOption(new Option('--role <role>', 'which part').choices([...roles, 'all']).default('all'))
    .action(async ({ role }: { role: Role | 'all' }) => {
      const { json } = program.opts<{ json?: boolean }>();
      const say = (text: string) => process.stdout.write(`${text}\n`);
      // Only here: it is most of the program, and no other command needs it.
      const { serve } = await import('./serve.ts');
      process.exitCode = await serve(readConfig(), {
        role,
        parentPid,
        progress: (step) => {
          if (!json) say(`  ${step}`);
        },
        ready: (started) => {
          say(json ? JSON.stringify(started) : describeStart(started));
        },
      });
      // Whatever a library left open does not keep a service that has stopped.
      process.exit();
    });

  addAccountCommands(program, (command) => run(program, command));
  addKeyCommands(program);
  addJobCommands(program);
  addLedgerCommands(program);
  addLogCommands(program);
  addInvoiceCommands(program, (command) => run(program, command));
  addProjectionCommands(program);
  addUrlCommands(program);
  addEngineCommands(program);
  allowJsonEverywhere(program);
  return program;
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
      run(program, (cli) => issueCommand(cli, account, options)),
    );
  keys
    .command('list')
    .description('the keys of an account')
    .argument('<account>', 'account id', accountIdArgument)
    .action((account: string) => run(program, (cli) => listCommand(cli, account)));
  keys
    .command('revoke')
    .description('revoke a key; when this returns, every process refuses it')
    .argument('<key_id>', 'key id, as "keys list" shows it')
    .action((keyId: string) => run(program, (cli) => revokeCommand(cli, keyId)));
}

function addJobCommands(program: Command): void {
  const jobs = program.command('jobs').description('look at downloads');
  jobs
    .command('show')
    .description('the state of a download, as the read model has it')
    .argument('<token>', 'request token')
    .action((token: string) => run(program, (cli) => showJobCommand(cli, token)));
  jobs
    .command('timeline')
    .description('every event of a download, of both its streams, in order')
    .argument('<token>', 'request token')
    .action((token: string) => run(program, (cli) => timelineCommand(cli, token)));
}

function addLedgerCommands(program: Command): void {
  const ledger = program.command('ledger').description('look at what was charged, and correct it');
  ledger
    .command('show')
    .description('every charge of a billing period with its event, and whether the log agrees')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'day on which the period starts, YYYY-MM-DD (default: the newest period)', dayArgument)
    .action((account: string, options: { period?: string }) =>
      run(program, (cli) => ledgerCommand(cli, account, options)),
    );
  ledger
    .command('export')
    .description('every row of a period as CSV or JSON, compared with the log')
    .requiredOption('--account <account>', 'account id', accountIdArgument)
    .requiredOption('--period <day>', 'day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(new Option('--format <format>', 'default: csv, or json with --json').choices(['csv', 'json']))
    .option('--output <file>', 'write there rather than to standard output')
    .action((options: LedgerExport) => run(program, (cli) => exportCommand(cli, options)));
  ledger
    .command('waive')
    .description(
      'take back the charge of a download, or those of all that failed, before the books of the period are closed',
    )
    .argument('[token]', 'request token; not with --failed')
    .option('--failed', 'instead of one: every charge of a period whose download has failed')
    .option('--account <account>', 'of --failed: account id', accountIdArgument)
    .option('--period <day>', 'of --failed: day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(
      new Option('--failure-reason <reason>', 'of --failed: only these (default: whatever the reason)').choices(
        failureReasonNames,
      ),
    )
    .option('--cents <cents>', 'how much (default: all that is left of the charge)', amountArgument)
    .requiredOption('--reason <text>', 'why', staffTextArgument)
    .requiredOption('--reference <reference>', 'case or ticket; repeated, it waives nothing twice', referenceArgument)
    .requiredOption('--by <name>', 'the member of staff who decides it', staffTextArgument)
    .action((token: string | undefined, options: Waiver & Partial<FailedWaiver> & { failed?: true }) => {
      const { failed, account, period } = options;
      if (failed) {
        if (token !== undefined || account === undefined || period === undefined || options.cents !== undefined)
          throw new CommandFailed('--failed takes --account and --period, and neither a token nor --cents');
        return run(program, (cli) => waiveFailedCommand(cli, { ...options, account, period }));
      }
      if (token === undefined || account !== undefined || period !== undefined || options.failureReason !== undefined)
        throw new CommandFailed('give one token; or --failed with --account and --period');
      return run(program, (cli) => waiveCommand(cli, token, options));
    });
  ledger
    .command('verify')
    .description(
      'recompute every charge and invoice from the log, by rules of its own, and list what diverges; exits with 1 for new ' +
        'divergences, 2 if it could not be found out, 3 for acknowledged ones only',
    )
    .option('--account <account>', 'of one account alone', accountIdArgument)
    .option('--period <day>', 'rows of one billing period alone: the day on which it starts, YYYY-MM-DD', dayArgument)
    .option('--watch', 'go on with the log, and say so at each divergence')
    .action((options: VerifyOptions) =>
      run(program, (cli) => verifyCommand(cli, options), {
        queryTimeoutMs: wholeTableMs,
      }),
    );
  addAcknowledgeCommand(ledger, program);
}

/** @param ledger the command to which it belongs */
function addAcknowledgeCommand(ledger: Command, program: Command): void {
  ledger
    .command('acknowledge')
    .description('record that a divergence was examined: the same one is known from then on, any other is new')
    .argument('<id>', 'id of the divergence, as "ledger verify" prints it', divergenceIdArgument)
    .option(
      '--account <account>',
      'its account: without it, everything is verified again to find it',
      accountIdArgument,
    )
    .requiredOption('--reason <text>', 'why it may stand', staffTextArgument)
    .requiredOption('--reference <reference>', 'case or ticket of the examination', referenceArgument)
    .requiredOption('--by <name>', 'the member of staff who examined it', staffTextArgument)
    .action((id: string, options: Acknowledgement) =>
      run(program, (cli) => acknowledgeCommand(cli, id, options), { queryTimeoutMs: wholeTableMs }),
    );
}

function divergenceIdArgument(value: string): string {
  if (/^[0-9a-f]{16}$/.test(value)) return value;
  throw new InvalidArgumentError('an id of a divergence is 16 hexadecimal digits, as "ledger verify" prints it');
}

function addLogCommands(program: Command): void {
  program
    .command('log')
    .description('look at the log itself')
    .command('show')
    .description('the events of a stream as they are stored, those included that cannot be read')
    .argument('<stream>', 'name of the stream, without EVENTSTORE_PREFIX')
    .option('--revision <number>', 'one event alone', wholeArgument(0, Number.MAX_SAFE_INTEGER))
    .action((stream: string, options: { revision?: number }) =>
      run(program, (cli) => showStreamCommand(cli, stream, options)),
    );
}

function addProjectionCommands(program: Command): void {
  const projections = program.command('projections').description('look after the read models');
  projections
    .command('status')
    .description('how far each read model is, and how fast it follows the log')
    .action(() => run(program, statusCommand));
  projections
    .command('rebuild')
    .description('build a read model from the log again, compare, and swap, while the service goes on')
    .addArgument(new Argument('<name>', 'which read model').choices(rebuildableNames))
    .option('--from-older-log', 'if the log was replaced by an older one: give up what was shown beyond its end')
    .action((name: string, options: { fromOlderLog?: boolean }) =>
      run(program, (cli) => rebuildCommand(cli, name, options), { queryTimeoutMs: wholeTableMs }),
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
      explainUrlCommand({ output: outputOf(program), samplePlatformOrigin: findSamplePlatform(readConfig()) }, url);
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
      await showEngine(outputOf(program));
    });
}

/** `--json` may stand in front of a command or behind it. */
function allowJsonEverywhere(program: Command): void {
  const visit = (command: Command): void => {
    for (const child of command.commands) {
      child.exitOverride();
      if (child.commands.length > 0) visit(child);
      else {
        child.option('--json', 'answer with one JSON document');
        child.hook('preAction', () => {
          if (child.opts<{ json?: boolean }>().json) program.setOptionValue('json', true);
        });
      }
    }
  };
  visit(program);
}

function outputOf(program: Command): Output {
  return {
    json: program.opts<{ json?: boolean }>().json === true,
    write: (text) => process.stdout.write(text),
    tell: (text) => process.stderr.write(text),
    terminal: process.stderr.isTTY,
  };
}

/** For queries over whole tables. */
const wholeTableMs = 3_600_000;

/** What reaches the engines is loaded by the commands that do. */
async function run(
  program: Command,
  command: Parameters<typeof RunCommand>[1],
  options?: Parameters<typeof RunCommand>[2],
): Promise<void> {
  const { runCommand } = await import('./run-command.ts');
  await runCommand(outputOf(program), command, options);
}

/** A clear sentence for what was to be expected, the whole error for what was not. */
function explain(error: unknown): { message: string; exitCode: number } {
  if (error instanceof CommanderError) return { message: '', exitCode: error.exitCode };
  if (error instanceof CommandFailed) return { message: error.message, exitCode: error.exitCode };
  if (error instanceof ConfigurationRefused) return { message: error.message, exitCode: 1 };
  if (error instanceof Error) {
    const expected = [
      'ClockIsWrong',
      'DataDirectoryRefused',
      'EngineUnusable',
      'EventStoreUnavailable',
      'NotStored',
      'OutcomeUnknown',
    ];
    return { message: expected.includes(error.name) ? error.message : (error.stack ?? error.message), exitCode: 1 };
  }
  return { message: String(error), exitCode: 1 };
}

try {
  await createProgram().parseAsync();
} catch (error) {
  const { message, exitCode } = explain(error);
  if (message !== '') process.stderr.write(`reeltally: ${message}\n`);
  process.exit(exitCode);
}
