import pMap from 'p-map';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { countRows, withClient } from '../support/postgres.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import type { OpenedAccount, ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Whose download a free slot takes, by the order of the claims in the log. */
const installation = installationOfFile({
  PLANS_FILE: planFile({ hourly_limit: 10_000, downloads_limit: 100_000 }),
});
let dispatcher: ServiceProcess;
let url: string;
let workers: ServiceProcess[] = [];

beforeAll(async () => {
  await installation.startRole('projector');
  dispatcher = await installation.startRole('dispatcher');
  ({ url } = await installation.startRole('api'));
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
  await installation.cli(['ledger', 'verify']);
});

async function startWorker(slots: number): Promise<ServiceProcess> {
  const worker = await installation.startRole('worker', { WORKER_SLOTS: String(slots) });
  workers.push(worker);
  return worker;
}

async function openAccounts(count: number): Promise<[OpenedAccount, OpenedAccount, OpenedAccount, ...OpenedAccount[]]> {
  const accounts: OpenedAccount[] = [];
  while (accounts.length < count) accounts.push(await installation.openAccount());
  return accounts as Awaited<ReturnType<typeof openAccounts>>;
}

/** Queues downloads, each after the one before; `private` ends soon, and its job does not come again. @returns their tokens */
async function download({ key }: OpenedAccount, count: number, item = 'private'): Promise<string[]> {
  const body = { url: installation.sampleUrl(item), quality: '360' as const };
  const queued = await pMap(Array.from({ length: count }), () => queue(url, key, body), {
    concurrency: count > 100 ? 8 : 1,
  });
  return queued.map(({ request_token: token }) => token);
}

const countJobs = (where: string) =>
  withClient(installation.environment.DATABASE_URL, (client) => countRows(client, `jobs where ${where}`));

const allEnded = () =>
  waitFor(async () => (await countJobs("status not in ('done', 'failed')")) === 0, {
    what: 'all jobs to end',
    pollMs: 200,
  });
const claimed = (count: number) =>
  waitFor(async () => (await countJobs("status <> 'queued'")) >= count, { what: `${count} claims`, pollMs: 20 });
const known = (count: number) =>
  waitFor(async () => (await countJobs("status = 'queued'")) >= count, { what: `${count} rows of waiting jobs` });

interface Step {
  type: string;
  token: string;
  accountId: string;
}

/** What happened to the jobs of these accounts, in the order of the log: queued, claimed, released. */
async function stepsOf(...accounts: readonly OpenedAccount[]): Promise<Step[]> {
  const events = await installation.readLog();
  const owners = new Map<string, string>();
  return events.flatMap(({ type, stream, data }) => {
    const { token } = data as { token: string };
    if (type === 'DownloadQueued') owners.set(token, stream.split('-')[1] ?? '');
    const accountId = owners.get(token) ?? '';
    const isWanted = ['DownloadQueued', 'JobClaimed', 'JobReleased'].includes(type);
    return isWanted && accounts.some((account) => account.accountId === accountId) ? [{ type, token, accountId }] : [];
  });
}

const claimsIn = (steps: readonly Step[]) => steps.filter(({ type }) => type === 'JobClaimed');
const countOf = (steps: readonly Step[], { accountId }: OpenedAccount) =>
  steps.filter((step) => step.accountId === accountId).length;

/** Claims of others between the queuing of a download and its own claim. */
function claimsBefore(token: string, steps: readonly Step[]): number {
  const ownAt = (type: string) => steps.findIndex((step) => step.type === type && step.token === token);
  return claimsIn(steps.slice(ownAt('DownloadQueued'), ownAt('JobClaimed'))).length;
}

/** Jobs that were claimed more than once, though nobody gave them back. */
function claimedTwice(steps: readonly Step[]): string[] {
  const count = (type: string, token: string) =>
    steps.filter((step) => step.type === type && step.token === token).length;
  const tokens = claimsIn(steps).map(({ token }) => token);
  return tokens.filter((token) => count('JobClaimed', token) !== 1 + count('JobReleased', token));
}

/** The figures of the long proof, before they are judged. */
function tell(figures: object): void {
  if (isLongProof) console.log(JSON.stringify(figures));
}

describe('with two slots', () => {
  it('all downloads of one account delay the first one of another by two at most, also after a restart', async () => {
    const [many, one, other] = await openAccounts(3);
    await download(many, 4, 'bars');
    await download(many, scaled(36, 996));
    await known(scaled(40, 1_000));
    await startWorker(2);
    await claimed(2);
    const [first = ''] = await download(one, 1);
    await claimed(scaled(10, 500));
    await Promise.all([...workers.map((worker) => worker.stop()), dispatcher.kill()]);
    workers = [];
    const [second = ''] = await download(other, 1);
    dispatcher = await installation.startRole('dispatcher');
    await startWorker(2);
    await allEnded();
    const steps = await stepsOf(many, one, other);
    const before = [first, second].map((token) => claimsBefore(token, steps));
    tell({ waiting: scaled(40, 1_000), before });
    expect(Math.max(...before)).toBeLessThanOrEqual(2);
    expect(claimedTwice(steps)).toEqual([]);
    // By age, but for two slots that claim at the same moment.
    const order = steps.filter(({ accountId, type }) => accountId === many.accountId && type === 'DownloadQueued');
    const claims = [...new Set(claimsIn(steps).map(({ token }) => token))].filter(
      (token) => token !== first && token !== second,
    );
    const displaced = order.map(({ token }, at) => Math.abs(claims.indexOf(token) - at));
    expect(Math.max(...displaced)).toBeLessThanOrEqual(3);
  });

  it('accounts with 1, 10 and 100 waiting downloads are served in turn', async () => {
    const accounts = await openAccounts(3);
    const [one, ten, hundred] = accounts;
    const most = scaled(40, 100);
    await download(hundred, most);
    await download(ten, 10);
    const [only = ''] = await download(one, 1);
    await known(most + 11);
    await startWorker(2);
    await allEnded();
    const steps = await stepsOf(...accounts);
    const claims = claimsIn(steps);
    expect(claims).toHaveLength(most + 11);
    const beforeOne = claims.findIndex(({ token }) => token === only);
    const lastOfTen = claims.findLastIndex(({ accountId }) => accountId === ten.accountId);
    const beforeTen = countOf(claims.slice(0, lastOfTen), hundred);
    tell({ waiting: [1, 10, most], beforeOne, ofHundredBeforeTen: beforeTen });
    expect(beforeOne).toBeLessThanOrEqual(2);
    // Each of the two has a slot as long as both have downloads that wait.
    expect(beforeTen).toBeLessThanOrEqual(20);
    expect(claimedTwice(steps)).toEqual([]);
  });
});

it('nobody starves: ten accounts, two workers', async () => {
  const accounts = await openAccounts(10);
  const [large, ...small] = accounts;
  const most = scaled(40, 400);
  await download(large, most);
  for (const account of small) await download(account, 3);
  await known(most + 27);
  await Promise.all([startWorker(2), startWorker(2)]);
  await allEnded();
  const steps = await stepsOf(...accounts);
  const claims = claimsIn(steps);
  expect(claims).toHaveLength(most + 27);
  expect(claimedTwice(steps)).toEqual([]);
  const lastOfSmall = claims.findLastIndex(({ accountId }) => accountId !== large.accountId);
  const ofLarge = countOf(claims.slice(0, lastOfSmall), large);
  tell({ accounts: 10, workers: 2, waitedFirst: most, ofLargeBeforeTheOthersEnded: ofLarge });
  // Three rounds, and what four slots may take of it beside: not those that waited first.
  expect(ofLarge).toBeLessThanOrEqual(10);
});
