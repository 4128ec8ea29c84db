import { beforeAll } from 'vitest';
import { projections } from '../../projections/all.ts';
import type { Cause } from '../../src/commands/handler/event-metadata.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import { type ChargedAccount, chargeDownloads, failDownload } from '../commands/charged-account.ts';
import { type LogUnderTest, logUnderTest } from '../commands/log-under-test.ts';
import { type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { readModelsOfFile, type TestReadModels, testSecret } from '../projections/read-models-under-test.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { planFile } from '../support/plans.ts';
import { type Environment, runCli } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { type Run, within } from './command-line.ts';

/** A log with all its read models inside the test's process, and the command line that works on them. No service runs. */
export interface Books {
  log: LogUnderTest;
  models: TestReadModels;
  /** For a process that works on them too; NATS is not among them. */
  environment: () => Environment;
  run: Run;
  /** The same command line, as many hours on. */
  laterBy: (hours: number) => Run;
  /** Runs it with `--json` and gives what it printed. @throws where it exits with another code than 0 */
  cli: <Answer = Record<string, unknown>>(...words: string[]) => Promise<Answer>;
  /** An account on the books' plan, which is called `test`. */
  openAccount: () => Promise<UsageAccount>;
  /** An account with the download that its plan includes, and so many charged ones. */
  chargedAccount: (charged: number, actor?: Cause['actor']) => Promise<ChargedAccount>;
  /** A worker takes a download of that account, and gives it up. */
  failDownload: (account: ChargedAccount, index: number, reason: FailureReason) => Promise<void>;
}

const now = () => new Date().toISOString();

/** Books for the tests of one file, on a plan that includes one download, so that those after it are overage. */
export function booksOfFile({ feeCents = 0, ...settings }: { feeCents?: number; INVOICE_ISSUER?: string } = {}): Books {
  const log = logUnderTest();
  const models = readModelsOfFile(log, ...projections);
  const plans = planFile({ downloads_limit: 1, overage_cents: 25, fee_cents: feeCents });
  const directory = temporaryDirectoryOfFile();
  const environment = (): Environment => ({
    ...settings,
    PLANS_FILE: plans,
    REELTALLY_DATA: directory,
    REELTALLY_SECRET: testSecret,
    EVENTSTORE_URL: log.url,
    DATABASE_URL: models.url,
    // Commands want its address, and do not connect to it.
    NATS_URL: 'nats://127.0.0.1:1',
  });
  beforeAll(() => models.pool.query('insert into installation (clock_may_be_shifted) values (true)'));

  const cli: Books['cli'] = (...words) => runCli(words, environment());
  const openAccount = async (): Promise<UsageAccount> => {
    const open = ['accounts', 'open', '--email', 'owner@example.com', '--plan', 'test'];
    const { account_id: accountId } = await cli<{ account_id: string }>(...open);
    const { period_start: start } = await cli<{ period_start: string }>('accounts', 'show', accountId);
    const stream = usageStream(accountId, { start });
    return { accountId, stream, origin: usageOrigin(stream) };
  };
  return {
    log,
    models,
    environment,
    run: (...words) => within(environment())(...words),
    laterBy:
      (hours) =>
      (...words) =>
        within({ ...environment(), ...clockOffset(hours * 3_600) })(...words),
    cli,
    openAccount,
    chargedAccount: async (charged, actor) =>
      chargeDownloads(writersOf(log.store, now), await openAccount(), { downloads: 1 + charged, actor }),
    failDownload: (account, index, reason) =>
      failDownload({ store: log.store, now }, account, { token: account.tokens[index] ?? '', reason, fault: 'video' }),
  };
}
