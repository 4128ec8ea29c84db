import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { acknowledgeCommand } from '../cli/acknowledge.ts';
import type { Acknowledgement } from '../cli/acknowledge.ts';
import { exportCommand } from '../cli/ledger-export.ts';
import type { LedgerExport } from '../cli/ledger-export.ts';
import { ledgerCommand } from '../cli/ledger.ts';
import { CommandFailed } from '../cli/output.ts';
import { verifyCommand } from '../cli/verify.ts';
import type { VerifyOptions } from '../cli/verify.ts';
import { waiveCommand, waiveFailedCommand } from '../cli/waive.ts';
import type { FailedWaiver, Waiver } from '../cli/waive.ts';
import { failureReasonNames } from '../domain/failure-reasons.ts';
import {
  accountIdArgument,
  amountArgument,
  dayArgument,
  referenceArgument,
  staffTextArgument,
  wholeTableMs,
} from './arguments.ts';
import type { RunCommand } from './run-command.ts';

/** `reeltally ledger …`. */
export function addLedgerCommands(program: Command, run: RunCommand): void {
  const ledger = program.command('ledger').description('look at what was charged, and correct it');
  ledger
    .command('show')
    .description('every charge of a billing period with its event, and whether the log agrees')
    .argument('<account>', 'account id', accountIdArgument)
    .option('--period <day>', 'day on which the period starts, YYYY-MM-DD (default: the newest period)', dayArgument)
    .action((account: string, options: { period?: string }) => run((cli) => ledgerCommand(cli, account, options)));
  ledger
    .command('export')
    .description('every row of a period as CSV or JSON, compared with the log')
    .requiredOption('--account <account>', 'account id', accountIdArgument)
    .requiredOption('--period <day>', 'day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(new Option('--format <format>', 'default: csv, or json with --json').choices(['csv', 'json']))
    .option('--output <file>', 'write there rather than to standard output')
    .action((options: LedgerExport) => run((cli) => exportCommand(cli, options)));
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
        return run((cli) => waiveFailedCommand(cli, { ...options, account, period }));
      }
      if (token === undefined || account !== undefined || period !== undefined || options.failureReason !== undefined)
        throw new CommandFailed('give one token; or --failed with --account and --period');
      return run((cli) => waiveCommand(cli, token, options));
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
      run((cli) => verifyCommand(cli, options), {
        queryTimeoutMs: wholeTableMs,
      }),
    );
  addAcknowledgeCommand(ledger, run);
}

function addAcknowledgeCommand(ledger: Command, run: RunCommand): void {
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
      run((cli) => acknowledgeCommand(cli, id, options), { queryTimeoutMs: wholeTableMs }),
    );
}

function divergenceIdArgument(value: string): string {
  if (/^[0-9a-f]{16}$/.test(value)) return value;
  throw new InvalidArgumentError('an id of a divergence is 16 hexadecimal digits, as "ledger verify" prints it');
}
