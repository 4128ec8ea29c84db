import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { ended, queue, statusOf } from '../support/downloads.ts';
import { readLog } from '../support/log.ts';
import type { LoggedEvent } from '../support/log.ts';
import { planFile } from '../support/plans.ts';
import { scrape, valueOf } from '../support/scrape.ts';
import { startInstallation } from '../support/installation.ts';
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

describe('a worker', { timeout: 120_000 }, () => {
  it('takes only so many jobs of one account at a time, and those of others meanwhile', async () => {
    await using installation = await startInstallation({
      ...{ WORKER_SLOTS: '3', MAX_JOBS_PER_ACCOUNT: '1', PLANS_FILE: planFile({ hourly_limit: 10_000 }) },
    });
    const { startRole, sampleUrl, cli, environment } = installation;
    await startRole('projector');
    await startRole('dispatcher');
    const { url } = await startRole('api');
    const open = async () => {
      const { account_id: accountId } = await cli<{ account_id: string }>([
        ...['accounts', 'open', '--email', 'a@example.com', '--plan', 'test'],
      ]);
      return { accountId, ...(await cli<{ key: string }>(['keys', 'issue', accountId])) };
    };
    const [busy, other] = [await open(), await open()];
    const download = async ({ key }: { key: string }) =>
      (await queue(url, key, { url: sampleUrl('bars'), quality: '360' })).request_token;
    const waiting = [];
    for (let count = 0; count < 4; count += 1) waiting.push(await download(busy));
    const late = await download(other);
    const worker = await startRole('worker');
    expect(await ended(url, other.key, late)).toMatchObject({ status: 'done' });
    const unfinished = await Promise.all(waiting.map((token) => statusOf(url, busy.key, token)));
    expect(unfinished.filter(({ data }) => data['status'] === 'queued').length).toBeGreaterThanOrEqual(1);
    for (const token of waiting) expect(await ended(url, busy.key, token)).toMatchObject({ status: 'done' });
    const events = await readLog(environment['EVENTSTORE_URL'] ?? '', 'job-');
    expect(mostHeld(events, busy.accountId)).toBe(1);
    expect(events.filter(({ type }) => type === 'JobClaimed')).toHaveLength(5);
    const { metrics } = await scrape(worker.url);
    expect(valueOf(metrics, 'reeltally_jobs_postponed_total', { quota: 'account' })).toBeGreaterThan(0);
    expect(valueOf(metrics, 'reeltally_jobs_postponed_total', { quota: 'platform' })).toBe(0);
  });

  it('takes no job while the disk has too little room, and goes on when it has', async () => {
    await using installation = await startInstallation();
    const { startRole, sampleUrl, cli, environment } = installation;
    for (const role of ['projector', 'dispatcher'] as const) await startRole(role);
    const { url } = await startRole('api');
    const opened = await cli<{ account_id: string }>([
      ...['accounts', 'open', '--email', 'a@example.com', '--plan', 'sandbox'],
    ]);
    const { key } = await cli<{ key: string }>(['keys', 'issue', opened.account_id]);
    const full = await startRole('worker', { MIN_FREE_DISK_MIB: '1000000000' });
    const { request_token: token } = await queue(url, key, { url: sampleUrl('bars'), quality: '360' });
    const isLow = async () => valueOf((await scrape(full.url)).metrics, 'reeltally_disk_low') === 1;
    await waitFor(isLow, { what: 'the worker to find too little room' });
    // Longer than a worker ever takes to ask for a job.
    await waitFor(() => full.log().includes('no more jobs are taken'), { what: 'the worker to say so' });
    expect((await statusOf(url, key, token)).data['status']).toBe('queued');
    expect(existsSync(join(environment['REELTALLY_DATA'] ?? '', 'work', 'attempts', token))).toBe(false);
    await full.stop();
    expect(full.log().split('no more jobs are taken')).toHaveLength(2);
    expect((await statusOf(url, key, token)).data['status']).toBe('queued');
    await startRole('worker');
    expect(await ended(url, key, token)).toMatchObject({ status: 'done' });
  });

  it('downloads nothing that is longer or larger than it may be', async () => {
    await using installation = await startInstallation();
    const { startRole, sampleUrl, cli } = installation;
    for (const role of ['projector', 'dispatcher'] as const) await startRole(role);
    const { url } = await startRole('api');
    const opened = await cli<{ account_id: string }>([
      ...['accounts', 'open', '--email', 'a@example.com', '--plan', 'sandbox'],
    ]);
    const { key } = await cli<{ key: string }>(['keys', 'issue', opened.account_id]);
    for (const [limit, item, error] of [
      [{ MAX_DURATION_SECONDS: '9' }, 'bars', 'too_long'],
      [{ MAX_FILE_MIB: '1' }, 'large', 'too_large'],
    ] as const) {
      await using worker = await startRole('worker', limit);
      const { request_token: token } = await queue(url, key, { url: sampleUrl(item) });
      expect(await ended(url, key, token), worker.url).toMatchObject({ status: 'failed', error });
    }
  });
});
