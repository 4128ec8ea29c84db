import { randomUUID } from 'node:crypto';
import { beforeAll } from 'vitest';
import { projections } from '../../projections/all.ts';
import type { Cause } from '../../src/commands/handler/event-metadata.ts';
import { recordJobProgress } from '../../src/commands/record-job-progress.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import type { JobCommand } from '../../src/domain/download-job.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { type LogUnderTest, logUnderTest } from '../commands/log-under-test.ts';
import { ask, downloadOf, freshCause, type UsageAccount, writersOf } from '../commands/usage-account.ts';
import { readModelsOfFile, type TestReadModels } from '../projections/read-models-under-test.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { planFile } from '../support/plans.ts';
import { type Environment, runCli } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { patienceMs } from '../support/wait-for.ts';
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

export interface ChargedAccount extends UsageAccount {
  /** The first download is charged at revision 1 of the usage stream and queued at 2, the next at 3 and 4. */
  tokens: string[];
}

const now = () => new Date().toISOString();
/** In the form by which streams of jobs are known. */
const newToken = () => `A${randomUUID().replaceAll('-', '').slice(1)}`;

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
    REELTALLY_SECRET: 'a secret that is long enough for a test',
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
    chargedAccount: async (charged, actor = freshCause().actor) => {
      const account = await openAccount();
      const writers = writersOf(log.store, now);
      const tokens = Array.from({ length: 1 + charged }, newToken);
      for (const token of tokens) await ask(writers, account, downloadOf(token), { cause: { ...freshCause(), actor } });
      return { ...account, tokens };
    },
    failDownload: async ({ accountId, stream: usageStream, tokens }, index, reason) => {
      const token = tokens[index] ?? '';
      const workerId = newId('wrk');
      const cause = { ...freshCause(), actor: { type: 'system', id: workerId }, timeoutMs: patienceMs } as const;
      const step = async (command: JobCommand) => {
        const recorded = await recordJobProgress({ store: log.store, now, newUuid }, command, cause);
        if (isRefused(recorded)) throw new Error(`${command.kind} was refused: ${recorded.refusal}`);
        return recorded.revision;
      };
      const usageRevision = 2 + 2 * index;
      const revision = await step({ kind: 'claim', token, workerId, accountId, usageStream, usageRevision });
      const claim = { workerId, revision };
      await step({ kind: 'start', token, claim });
      await step({ kind: 'give_up', token, claim, reason, fault: 'video' });
    },
  };
}
