import { beforeAll, expect, it } from 'vitest';
import { type Answer, call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import type { ServiceProcess } from '../support/service.ts';

const installation = installationOfFile({ PLANS_FILE: planFile({}) });
let api: ServiceProcess;
beforeAll(async () => {
  await installation.startRole('projector');
  api = await installation.startRole('api');
});

const told = ({ status, code, headers }: Answer) => ({
  answer: `${String(status)} ${String(code)}`,
  remaining: Number(headers.get('x-ratelimit-remaining')),
});
const retryAfterOf = ({ headers }: Answer) => Number(headers.get('retry-after'));

it('requests that a silent event store fails take no place of the hour, and are told to wait longer and longer', async () => {
  const { key } = await installation.openAccount();
  const credits = () => call(api.url, '/credits', { key });
  const download = () => call(api.url, '/video/download', { key, body: { url: installation.sampleUrl('bars') } });
  const before = told(await credits());
  installation.silenceEventStore();
  const first = await Promise.all([credits(), download()]);
  const second = await Promise.all([credits(), credits(), credits()]);
  installation.wakeEventStore();

  expect(first.map((answer) => told(answer).answer)).toEqual(['503 unavailable', '502 enqueue_failed']);
  expect(second.map((answer) => told(answer).answer)).toEqual(Array(3).fill('503 unavailable'));
  // What each is shown is what was left when it was admitted, and its own place again.
  for (const answer of first) expect(told(answer).remaining).toBeGreaterThanOrEqual(before.remaining - 1);
  expect(Math.max(...second.map((answer) => told(answer).remaining))).toBe(before.remaining);
  const [unavailable = -1, enqueueFailed = -1] = first.map(retryAfterOf);
  expect(unavailable).toBe(1);
  expect(enqueueFailed).toBeGreaterThan(unavailable);
  for (const answer of second) expect(retryAfterOf(answer)).toBeGreaterThan(enqueueFailed);
  for (const answer of second) expect(retryAfterOf(answer)).toBeLessThanOrEqual(30);
  expect(told(await credits())).toEqual({ answer: '200 undefined', remaining: before.remaining - 1 });
});
