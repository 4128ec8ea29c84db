import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listPids, readProcessFile, readProcessLink } from '../../src/system/processes.ts';
import { call } from '../support/client.ts';
import { ended, pollEveryMs, queue, statusOf } from '../support/downloads.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import { readLog } from '../support/read-log.ts';
import { type Service, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** SIGKILL of the service and every engine while jobs are queued and running; then one start, as after a power cut. */
let service: Service;

beforeAll(async () => {
  service = await startService({ WORKER_SLOTS: '2', PLANS_FILE: planFile({ hourly_limit: 10_000 }) });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** Of a process that names the folder on its command line or works in it. */
const processesOn = (directory: string): number[] =>
  listPids().filter((pid) => {
    const isNamed = readProcessFile(pid, 'cmdline')?.includes(directory) === true;
    return pid !== process.pid && (isNamed || readProcessLink(pid, 'cwd')?.startsWith(directory) === true);
  });

async function killEverything(): Promise<void> {
  await service.kill();
  await waitFor(
    () => {
      const left = processesOn(service.dataDirectory);
      for (const pid of left) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended by itself, as it should.
        }
      }
      return left.length === 0;
    },
    { what: 'every process on the data directory to be gone' },
  );
}

test('each job ends done or failed, is charged once, and none is lost', async () => {
  const { accountId, key } = await service.openAccount('test');
  const jobs = scaled(4, 50);
  const items = ['slow', 'private', 'bars', 'hls'];
  const queued = await Promise.all(
    Array.from({ length: jobs }, (_, index) =>
      queue(service.url, key, { url: service.sampleUrl(items[index % items.length] ?? 'bars'), quality: '360' }),
    ),
  );
  const tokens = queued.map(({ request_token: token }) => token);
  await waitFor(
    async () => {
      const statuses = await Promise.all(tokens.map((token) => statusOf(service.url, key, token)));
      const running = statuses.filter(({ data }) => data['status'] === 'running').length;
      const waiting = statuses.filter(({ data }) => data['status'] === 'queued').length;
      return running >= 2 && waiting >= 1;
    },
    { what: 'jobs to be running while others are queued', pollMs: pollEveryMs },
  );
  await killEverything();
  service = await service.restart();

  // One after the other, because polls count against the hourly limit.
  for (const [index, token] of tokens.entries()) {
    const outcome = await ended(service.url, key, token);
    const isPrivate = items[index % items.length] === 'private';
    expect(outcome).toMatchObject(isPrivate ? { status: 'failed', error: 'private_video' } : { status: 'done' });
  }
  const { data } = await call(service.url, '/credits', { key });
  expect(data['downloads']).toMatchObject({ used: jobs });

  const { eventStoreUrl } = JSON.parse(readFileSync(`${service.dataDirectory}/instance.json`, 'utf8')) as {
    eventStoreUrl: string;
  };
  const charges = (await readLog(eventStoreUrl, `usage-${accountId}`)).filter(
    ({ type }) => type === 'DownloadCreditDebited',
  );
  expect(charges.map(({ data: charge }) => (charge as { token: string }).token).sort()).toEqual([...tokens].sort());
});
