import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { accountIdOf } from '../../src/commands/ids/reference-ids.ts';
import { story } from '../../src/demo/story.ts';
import { treeHeadsStream } from '../../src/domain/tree-head-events.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { type LoggedEvent, readLog } from '../support/read-log.ts';
import {
  cliCommand,
  type Environment,
  runCli,
  type ServiceProcess,
  startOnTerminal,
  startProcess,
} from '../support/service.ts';
import { sum } from '../support/sum.ts';
import { temporaryDataDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** What the log has of the whole story, of the key that a start shows, and of the admin whom each start finds again. */
const eventsTold = {
  StaffInvited: 1,
  AccountOpened: 3,
  ApiKeyIssued: 6,
  ApiKeyRevoked: 1,
  PersonInvited: 3,
  PersonRemoved: 1,
  UsagePeriodOpened: 6,
  UsagePeriodEnded: 3,
  UsagePeriodClosed: 3,
  PlanChanged: 4,
  OverageCapSet: 3,
  DownloadQueued: 300,
  DownloadCreditDebited: 236,
  OverageCharged: 64,
  MetadataCreditDebited: 217,
  UsageWarningReached: 8,
  UsageWarningMailed: 8,
  OverageCapReached: 1,
  OverageCapMailed: 1,
  ChargeWaived: 4,
  DownloadCreditReturned: 1,
  InvoiceIssued: 6,
  CorrectionAsked: 4,
  CorrectionMade: 4,
  CreditNoteIssued: 2,
  JobClaimed: 312,
  JobStarted: 312,
  JobReleased: 12,
  JobCompleted: 286,
  JobFailed: 14,
  FileExpired: 286,
};

/** Percents of the story at which a start is killed, one after the other. */
const instants = isLongProof ? [0, 2, 5, 9, 14, 20, 27, 33, 40, 48, 55, 60, 66, 71, 77, 83, 88, 93, 97] : [3, 30, 75];

const environmentOf = (directory: string): Environment => ({ REELTALLY_DATA: join(directory, 'data') });

/** Kills a start once so much of the story is told. */
async function killAt(percent: number, environment: Environment): Promise<void> {
  const sayPid = ['sh', '-c', 'echo "pid $$."; exec "$@"', 'sh'];
  await using start = startOnTerminal([...sayPid, ...cliCommand, 'serve'], environment);
  const hasTold = () =>
    [...start.screen().matchAll(/story of the demo: (\d+) %/g)].some(([, shown]) => Number(shown) >= percent);
  await waitFor(hasTold, { what: `${String(percent)} % of the story`, pollMs: 1 });
  process.kill(Number(/pid (\d+)\./.exec(start.screen())?.[1]), 'SIGKILL');
  await start.code;
  expect(start.screen()).not.toContain('is ready on');
}

const { UsagePeriodClosed, InvoiceIssued, CreditNoteIssued } = eventsTold;
const leavesTold = UsagePeriodClosed + InvoiceIssued + CreditNoteIssued;

/**
 * Waits for the head of the signed log that covers the whole story, after which there is no other. How many were signed on the
 * way depends on how long the story took.
 */
async function countEvents({ dataDirectory }: ServiceProcess) {
  const instance = readFileSync(join(dataDirectory, 'instance.json'), 'utf8');
  const { eventStoreUrl } = JSON.parse(instance) as { eventStoreUrl: string };
  const isLastHead = ({ data }: LoggedEvent) => (data as { size: number }).size === leavesTold;
  await waitFor(async () => (await readLog(eventStoreUrl, treeHeadsStream)).some(isLastHead), {
    what: 'the head that covers the story',
  });
  const counts: Record<string, number> = {};
  for (const { type } of await readLog(eventStoreUrl)) counts[type] = (counts[type] ?? 0) + 1;
  const { TreeHeadSigned: heads = 0, ...told } = counts;
  return { heads, told };
}

const agency = accountIdOf(story[2].reference);
const eventsOfStory = sum(Object.values(eventsTold));
const listAccounts = async (environment: Environment) =>
  (await runCli<{ accounts: { account_id: string; email: string }[] }>(['accounts', 'list'], environment)).accounts;

it('is told once, however often a start is killed on the way', async () => {
  const environment = environmentOf(temporaryDataDirectory());
  for (const percent of instants) await killAt(percent, environment);
  await using service = await startProcess('all', environment);
  const { heads, told } = await countEvents(service);
  expect(told).toEqual(eventsTold);
  expect(service.demo?.accountId).toBe(accountIdOf(story[0].reference));
  expect(await runCli(['ledger', 'verify'], environment)).toMatchObject({ events: eventsOfStory + heads });
  // The month that is running has amounts worth looking at.
  interface Usage {
    periods: { downloads: { overage: { cents: number } } }[];
  }
  const { periods } = await runCli<Usage>(['accounts', 'usage', agency], environment);
  for (const { downloads } of periods) expect(downloads.overage.cents).toBeGreaterThan(5_000);
  expect(periods).toHaveLength(2);
  // Its warnings are recorded as mailed, and nobody is mailed.
  expect(existsSync(join(service.dataDirectory, 'mails'))).toBe(false);

  // The next start shows another key, and tells nothing.
  await service.stop();
  await using again = await startProcess('all', environment);
  expect(await countEvents(again)).toEqual({
    heads,
    told: { ...eventsTold, ApiKeyIssued: eventsTold.ApiKeyIssued + 1 },
  });
  expect(again.demo?.accountId).toBe(service.demo?.accountId);
});

it('is not told where DEMO=empty, nor later into a log that holds anything', async () => {
  const environment = environmentOf(temporaryDataDirectory());
  const empty = await startProcess('all', { ...environment, DEMO: 'empty' });
  const [only, ...others] = await listAccounts(environment);
  expect([only, others]).toEqual([expect.objectContaining({ email: 'demo@example.com' }), []]);
  await empty.stop();
  await using later = await startProcess('all', environment);
  expect(await listAccounts(environment)).toHaveLength(1);
  expect(later.demo?.accountId).toBe(empty.demo?.accountId);
});
