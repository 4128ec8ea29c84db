import { Command, Option } from 'commander';
import { addEraseAccount } from './accounts/erase.ts';
import { addFindAccounts, addListAccounts } from './accounts/find.ts';
import { addCloseAccount, addLiftSuspension, addSuspendAccount } from './accounts/life.ts';
import { addOpenAccount } from './accounts/open.ts';
import { addShowAccount } from './accounts/show.ts';
import { addAccountCap, addAccountPlan, addAccountTerms } from './accounts/terms.ts';
import { addAccountUsage } from './accounts/usage.ts';
import { addCreateBackup, addRestoreBackup, addVerifyBackup, type Backups } from './backup.ts';
import { addAccountBilling, addSetIssuer, addShowIssuer } from './billing-details.ts';
import { addListCorrections } from './corrections.ts';
import type { RunCommand } from './dependencies.ts';
import { addDownload, type OpenApiClient } from './download.ts';
import { addInstallEngine, addShowEngine, type DownloaderReport, type EngineInstallation } from './engine.ts';
import { help } from './help.ts';
import { addCreditInvoice } from './invoices/credit.ts';
import { addIssueDueInvoices } from './invoices/issue-due.ts';
import { addListInvoices } from './invoices/list.ts';
import { addListMails, addMailAgain } from './invoices/mails.ts';
import { addSalesBook } from './invoices/sales-book.ts';
import { addShowInvoice } from './invoices/show.ts';
import { addListJobs, addShowJob, addTimeline } from './jobs.ts';
import { addIssueKey, addLimitKey, addListKeys, addRevokeKey } from './keys.ts';
import { addAcknowledge } from './ledger/acknowledge.ts';
import { addExportLedger } from './ledger/export.ts';
import { addShowLedger } from './ledger/show.ts';
import { addVerify } from './ledger/verify.ts';
import { addWaive } from './ledger/waive.ts';
import { addShowStream } from './log.ts';
import { addExportLog, addImportLog, type WithImportTarget } from './log-transfer.ts';
import type { Output } from './output.ts';
import { addInvitePerson, addListPeople, addRemovePerson } from './people.ts';
import { addProjectionStatus, addRebuild } from './projections.ts';
import { addExportProof } from './proofs/export.ts';
import { addMirror } from './proofs/mirror.ts';
import { addNewOrigin } from './proofs/new-origin.ts';
import { addListProofKeys, addShowCheckpoint } from './proofs/show.ts';
import { addMonthReport } from './reports.ts';
import { addInviteStaff, addLinkStaff, addListStaff, addRemoveStaff, addStaffTokens } from './staff.ts';
import { addExplainUrl } from './urls.ts';

/** Dependencies of the program, handed in by `main/`: each is used by the commands that need it, and no earlier. */
export interface ProgramDependencies {
  version: string;
  output: Output;
  /** The caller answers errors in the arguments as JSON, so the program prints none of them as text. */
  errorsAreJson: boolean;
  run: RunCommand;
  /** The names that `serve --role` takes beside `all`. */
  roles: readonly string[];
  serve: (role: string) => Promise<void>;
  openApiClient: OpenApiClient;
  /** Origin of the sample platform of a running instance, if it has one. */
  findSamplePlatform: () => string | undefined;
  inspectDownloader: () => Promise<DownloaderReport>;
  engine: { install: (file: string) => Promise<EngineInstallation>; restore: () => Promise<boolean> };
  withImportTarget: WithImportTarget;
  openBackups: () => Promise<Backups>;
}

/** Every command of `reeltally`, in the order of its help. Each stands in the file of its name, with its options. */
export function createProgram(dependencies: ProgramDependencies): Command {
  const { output, run } = dependencies;
  const program = createEmptyProgram(dependencies);
  const group = (name: string, description: string) => program.command(name).description(description);

  addServe(program, dependencies);
  addDownload(program, output, dependencies.openApiClient);

  const accounts = group('accounts', 'open accounts, change their terms, show their usage, close and erase them');
  addOpenAccount(accounts, run);
  addListAccounts(accounts, run);
  addFindAccounts(accounts, run);
  addShowAccount(accounts, run);
  addAccountUsage(accounts, run);
  addAccountPlan(accounts, run);
  addAccountTerms(accounts, run);
  addAccountCap(accounts, run);
  addAccountBilling(accounts, run);
  addSuspendAccount(accounts, run);
  addLiftSuspension(accounts, run);
  addCloseAccount(accounts, run);
  addEraseAccount(accounts, run);

  const keys = group('keys', 'issue, list, limit and revoke API keys');
  addIssueKey(keys, run);
  addListKeys(keys, run);
  addRevokeKey(keys, run);
  addLimitKey(keys, run);

  const people = group('people', 'invite, list and remove the people of an account');
  addInvitePerson(people, run);
  addListPeople(people, run);
  addRemovePerson(people, run);

  const jobs = group('jobs', 'list downloads, and replay one');
  addListJobs(jobs, run);
  addShowJob(jobs, run);
  addTimeline(jobs, run);

  const ledger = group('ledger', 'show, verify, export and correct charges');
  addShowLedger(ledger, run);
  addExportLedger(ledger, run);
  addWaive(ledger, run);
  addVerify(ledger, run);
  addAcknowledge(ledger, run);

  const log = group('log', 'show, export and import the event log itself');
  addShowStream(log, run);
  addExportLog(log, run, dependencies.version);
  addImportLog(log, output, dependencies.withImportTarget);

  const backup = group('backup', 'back up the embedded data folder, verify and restore a backup');
  addCreateBackup(backup, run, dependencies.openBackups);
  addVerifyBackup(backup, output, dependencies.openBackups);
  addRestoreBackup(backup, output, dependencies.openBackups);

  const invoices = group('invoices', 'issue, list and show invoices and credit notes');
  addListInvoices(invoices, run);
  addSalesBook(invoices, run);
  addShowInvoice(invoices, run);
  addIssueDueInvoices(invoices, run);
  addCreditInvoice(invoices, run);
  addListMails(invoices, run);
  addMailAgain(invoices, run);

  const staff = group('staff', 'invite, list and remove staff; tokens for programs');
  addInviteStaff(staff, run);
  addLinkStaff(staff, run);
  addListStaff(staff, run);
  addRemoveStaff(staff, run);
  addStaffTokens(staff, run);

  addListCorrections(group('corrections', 'list what staff gave back in the console'), run);

  const issuer = group('issuer', 'show and change name and address of the issuer of invoices');
  addShowIssuer(issuer, run);
  addSetIssuer(issuer, run);

  const proofs = group('proofs', 'prove invoices and credit notes to anybody, and keep the signed log of them');
  addExportProof(proofs, run);
  addShowCheckpoint(proofs, run);
  addListProofKeys(proofs, run);
  addMirror(proofs, run);
  addNewOrigin(proofs, run);

  addMonthReport(group('reports', 'close a month'), run);

  const projections = group('projections', 'show and rebuild the read models');
  addProjectionStatus(projections, run);
  addRebuild(projections, run);

  addExplainUrl(group('urls', 'explain how the address of a video is parsed'), output, dependencies.findSamplePlatform);
  const engine = group('engine', 'check yt-dlp and ffmpeg, which make the downloads, and replace yt-dlp');
  addShowEngine(engine, output, dependencies.inspectDownloader);
  addInstallEngine(engine, output, dependencies.engine);
  addHelp(program);
  allowJsonEverywhere(program);
  return program;
}

function createEmptyProgram({ version, output, errorsAreJson }: ProgramDependencies): Command {
  return new Command('reeltally')
    .description('A metered video-download API whose every cent can be audited.')
    .option('--json', 'print the answer, or the error, as one JSON document')
    .version(version, '--version', 'print the version and exit')
    .configureHelp(help)
    .configureOutput({ writeOut: output.write, writeErr: errorsAreJson ? () => undefined : output.tell })
    .showHelpAfterError('(add --help for the arguments and options)')
    .exitOverride();
}

function addServe(program: Command, { roles, serve }: ProgramDependencies): void {
  program
    .command('serve')
    .description('run the service: one role as a process of its own, or all roles with their servers')
    .addOption(new Option('--role <role>', 'role to run').choices([...roles, 'all']).default('all'))
    .addHelpText(
      'after',
      '\nSettings come from the environment, such as PORT and HOST of the API, STAFF_PORT, and REELTALLY_DATA, the folder of ' +
        'the data. All of them: docs/settings.md.',
    )
    .action(({ role }: { role: string }) => serve(role));
}

/** `help ledger waive` is `ledger waive --help`. */
function addHelp(program: Command): void {
  program
    .command('help')
    .description('show the arguments and options of a command')
    .argument('[command...]', 'the command, such as: ledger waive')
    .action((words: string[]) => {
      let command = program;
      for (const word of words) {
        const next = command.commands.find((each) => each.name() === word);
        if (!next) return command.error(`error: unknown command '${words.join(' ')}'`);
        command = next;
      }
      command.outputHelp();
    });
}

/** `--json` may stand in front of a command or behind it. */
function allowJsonEverywhere(program: Command): void {
  for (const child of program.commands) {
    child.exitOverride();
    if (child.commands.length > 0) allowJsonEverywhere(child);
    else child.option('--json', 'print the answer as one JSON document');
  }
}
