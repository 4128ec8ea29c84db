import { beforeAll, describe, expect, it } from 'vitest';
import { ended, queue, statusOf } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import type { LoggedEvent } from '../support/read-log.ts';
import { readMetric, scrape, valueOf } from '../support/scraped-metrics.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The most jobs of one account that were held at the same time, by the order of the log. */
function mostHeld(events: readonly LoggedEvent[], accountId: string): number {
  const held = new Set<string>();
  const ofAccount = new Set<string>();
  let most = 0;
  for (const { type, stream, data } of events) {
    if (type === 'JobClaimed' && (data as { account_id: string }).account_id === accountId) ofAccount.add(stream);
    if (type === 'JobClaimed') held.add(stream);
    if (['JobCompleted', 'JobFailed', 'JobReleased'].includes(type)) held.delete(stream);
    most = Math.max(most, [...held].filter((job) => ofAccount.has(job)).length);
  }
  return most;
}

const installation = installationOfFile({
  MAX_JOBS_PER_ACCOUNT: '1',
  PLANS_FILE: planFile({ hourly_limit: 10_000 }),
});
let dispatcher: ServiceProcess;
let url: string;

beforeAll(async () => {
  await installation.startRole('projector');
  dispatcher = await installation.startRole('dispatcher');
  ({ url } = await installation.startRole('api'));
});

const download = async ({ key }: { key: string }, item = 'bars') =>
  (await queue(url, key, { url: installation.sampleUrl(item), quality: '360' })).request_token;

describe('a worker', () => {
  it('takes only so many jobs of one account at a time, and those of others meanwhile', async () => {
    const [busy, other] = [await installation.openAccount(), await installation.openAccount()];
    const waiting: string[] = [];
    while (waiting.length < scaled(2, 4)) waiting.push(await download(busy));
    const late = await download(other);
    await using worker = await installation.startRole('worker', { WORKER_SLOTS: '3' });
    for (const token of waiting) expect(await ended(url, busy.key, token)).toMatchObject({ status: 'done' });
    expect(await ended(url, other.key, late)).toMatchObject({ status: 'done' });
    const events = await installation.readLog('job-');
    expect(mostHeld(events, busy.accountId)).toBe(1);
    // Nobody waits for those of the account that has no place.
    const ends = events.filter(({ type }) => type === 'JobCompleted').map(({ stream }) => stream);
    expect(ends.indexOf(`job-${late}`)).toBeLessThan(waiting.length);
    const { metrics } = await scrape(worker.url);
    expect(valueOf(metrics, 'reeltally_jobs_postponed_total', { quota: 'account' })).toBeGreaterThan(0);
    expect(valueOf(metrics, 'reeltally_jobs_postponed_total', { quota: 'platform' })).toBe(0);
  });

  it('takes no job while the disk has too little room, and another one does', async () => {
    const account = await installation.openAccount();
    const full = await installation.startRole('worker', { MIN_FREE_DISK_MIB: '1000000000' });
    const isLow = async () => (await readMetric(full.url, 'reeltally_disk_low')) === 1;
    await waitFor(isLow, { what: 'the worker to find too little room' });
    const token = await download(account);
    const waits = async () => (await readMetric(dispatcher.url, 'reeltally_queue_pending_messages')) === 1;
    await waitFor(waits, { what: 'its message to wait for a worker', pollMs: 100 });
    expect((await statusOf(url, account.key, token)).data['status']).toBe('queued');
    await full.stop();
    expect(full.log().split('no more jobs are taken')).toHaveLength(2);
    await using worker = await installation.startRole('worker');
    expect(await ended(url, account.key, token), worker.url).toMatchObject({ status: 'done' });
  });

  it.each([
    [{ MAX_DURATION_SECONDS: '9' }, 'bars', 'too_long'],
    [{ MAX_FILE_MIB: '1' }, 'large', 'too_large'],
  ])('with %j ends %s as %s', async (limit, item, error) => {
    const account = await installation.openAccount();
    const token = await download(account, item);
    await using worker = await installation.startRole('worker', limit);
    expect(await ended(url, account.key, token), worker.url).toMatchObject({ status: 'failed', error });
  });
});
