import { createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { stringify } from 'csv-stringify';
import { type LedgerRow, ledgerRow, overageLedger, readLedger } from '../../../projections/overage-ledger.ts';
import { readReached } from '../../../projections/runner/checkpoints.ts';
import { spreadsheetCsv } from '../../documents/spreadsheet-csv.ts';
import { usageStream } from '../../domain/billing-period.ts';
import { parseUsageEvent } from '../../domain/parse-event.ts';
import { accountIdArgument, dayArgument } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, jsonDocument, print } from '../output.ts';
import { replacesFile, writeOutputFile } from '../output-file.ts';
import { caughtUp } from '../wait-for-read-models.ts';
import { differenceBetween, LedgerTotals } from './show.ts';

export function addExportLedger(ledger: Command, run: RunCommand): void {
  ledger
    .command('export')
    .description('export every row of a period as CSV or JSON, compared with the log')
    .requiredOption('--account <account>', 'account id', accountIdArgument)
    .requiredOption('--period <day>', 'day on which the period starts, YYYY-MM-DD', dayArgument)
    .addOption(
      new Option('--format <format>', 'format of the file (default: csv, or json with --json)').choices([
        'csv',
        'json',
      ]),
    )
    .option('--output <file>', `write to this file instead of standard output; ${replacesFile}`)
    .action((options: LedgerExport) => run((cli) => exportCommand(cli, options)));
}

interface LedgerExport {
  account: string;
  /** Day on which the billing period starts, YYYY-MM-DD. */
  period: string;
  /** Without it: csv, or json where `--json` asks for it. */
  format?: 'csv' | 'json';
  /** Without it, to standard output. */
  output?: string;
}

interface Source {
  accountId: string;
  periodStart: string;
  stream: string;
  /** Commit position of the log, which the ledger has reached. */
  upTo: bigint;
}

type ExportDependencies = Pick<CliDependencies, 'store' | 'pool' | 'hasProjector' | 'output'>;

const pageRows = 1_000;

/**
 * Every row of a period's ledger, in the order of the log, and whether the log has the same: both are read page by page beside
 * each other, so that a period of any size needs no more memory than a small one.
 */
export async function exportCommand(
  cli: ExportDependencies,
  { account: accountId, period, output, ...wanted }: LedgerExport,
): Promise<void> {
  const format = wanted.format ?? (cli.output.json ? 'json' : 'csv');
  if (cli.output.json && format === 'csv' && output === undefined) {
    throw new CommandFailed('--json prints one JSON document, but the format is CSV: name a file with --output');
  }
  const periodStart = `${period}T00:00:00.000Z`;
  const stream = usageStream(accountId, { start: periodStart });
  if ((await cli.store.read(stream, 0, 1)).length === 0) {
    throw new CommandFailed(`${accountId} has no billing period that starts on ${period}`);
  }
  const behind = !(await caughtUp(cli, overageLedger));
  const upTo = await readReached(cli.pool, overageLedger.name);
  const compared = new ComparedRows(cli, { accountId, periodStart, stream, upTo });
  if (output === undefined) await write(compared, format, standardOutput(cli));
  else await writeFile(compared, format, output);
  const { difference, totals } = compared;
  if (difference !== undefined) throw new CommandFailed(`the exported rows differ from the log: ${difference}`);
  if (output !== undefined) {
    const data = { account_id: accountId, period_start: periodStart, file: output, format, ...totals.data, behind };
    print(cli.output, data, `${totals.text}, as in the log, are in ${output}`);
  }
  if (behind) throw new CommandFailed('the ledger is behind the log: rows may be missing at the end', 2);
}

/** The rows of the read model, each compared with the log's while it is handed on. */
class ComparedRows {
  readonly #cli: ExportDependencies;
  readonly source: Source;
  readonly totals = new LedgerTotals();
  /** The first one, in words; complete once all rows have been read. */
  difference: string | undefined;

  constructor(cli: ExportDependencies, source: Source) {
    this.#cli = cli;
    this.source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LedgerRow> {
    const logged = this.#logged();
    for await (const row of this.#recorded()) {
      const { value: charge } = (await logged.next()) as { value: LedgerRow | undefined };
      this.difference ??= differenceBetween(row, charge);
      this.totals.add(row);
      yield row;
    }
    const { value: missing } = (await logged.next()) as { value: LedgerRow | undefined };
    this.difference ??= differenceBetween(undefined, missing);
  }

  async *#recorded(): AsyncGenerator<LedgerRow> {
    let after = -1n;
    for (;;) {
      const page = await readLedger(this.#cli.pool, { ...this.source, after, limit: pageRows });
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < pageRows) return;
      after = BigInt(last.position);
    }
  }

  async *#logged(): AsyncGenerator<LedgerRow> {
    const { stream, upTo } = this.source;
    let revision = 0;
    for (;;) {
      const page = await this.#cli.store.read(stream, revision, pageRows);
      for (const recorded of page) {
        if (recorded.position > upTo) return;
        const row = ledgerRow(parseUsageEvent(recorded));
        if (row) yield row;
      }
      if (page.length < pageRows) return;
      revision += page.length;
    }
  }
}

async function write(rows: ComparedRows, format: 'csv' | 'json', sink: Writable): Promise<void> {
  if (format === 'json') {
    const { accountId: account_id, periodStart: period_start, stream } = rows.source;
    await pipeline(
      jsonDocument({ account_id, period_start, stream }, 'rows', rows, () => rows.totals.data),
      sink,
    );
  } else await pipeline(flatRows(rows), stringify({ header: true, bom: true, columns, ...spreadsheetCsv }), sink);
}

/** A file is there when all of it is, and is what the log has. */
async function writeFile(rows: ComparedRows, format: 'csv' | 'json', file: string): Promise<void> {
  await writeOutputFile(file, async ({ handle, isDirect }) => {
    // A stream of the handle itself would keep it from being closed.
    await write(rows, format, createWriteStream(file, { fd: handle.fd, autoClose: false }));
    if (rows.difference !== undefined && !isDirect) {
      throw new CommandFailed(`nothing was written, because the ledger differs from the log: ${rows.difference}`);
    }
  });
}

const standardOutput = ({ output }: ExportDependencies) =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      output.write(chunk.toString());
      done();
    },
  });

const columns = [
  'event_id',
  'stream',
  'revision',
  'position',
  'time',
  'type',
  'token',
  'lookup_id',
  'ordinal',
  'rate_cents',
  'rate_version',
  'cents',
  'corrects',
  'reference',
  'request_id',
  'actor_type',
  'actor_id',
  'actor_role',
  'actor_reason',
  'account_id',
  'period_start',
];

async function* flatRows(rows: ComparedRows): AsyncGenerator<object> {
  for await (const { actor, ...row } of rows) {
    const staff = actor.type === 'staff' ? { actor_role: actor.role, actor_reason: actor.reason } : {};
    yield { ...row, actor_type: actor.type, actor_id: actor.id, ...staff };
  }
}
