import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueKey } from '../http/requests.ts';
import { type Answer, call } from '../support/client.ts';
import { queue, statusOf } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** What one process has answered does not go back in its next answer; another process is behind for a moment at most. */
const installation = installationOfFile();
let api: ServiceProcess;
let other: ServiceProcess;
let projector: ServiceProcess;
const behindMs: number[] = [];

beforeAll(async () => {
  projector = await installation.startRole('projector');
  await installation.startRole('worker', { MIN_FREE_DISK_MIB: '1000000000' });
  [api, other] = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
});

afterAll(() => {
  const sorted = behindMs.sort((one, two) => one - two);
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  console.log(`another process was behind for ${at(0.5)} ms (median), at most ${at(1)} ms`);
});

const creditsOf = ({ headers }: Answer): number => Number(headers.get('x-credits-remaining'));

async function download(url: string, key: string): Promise<{ token: string; left: number }> {
  const answer = await call(url, '/video/download', { key, body: { url: installation.sampleUrl('private') } });
  expect(answer.status).toBe(202);
  return { token: String(answer.data['request_token']), left: creditsOf(answer) };
}

describe('X-Credits-Remaining', () => {
  it('of every answer after a 202 is no higher, while the read models stand still', async () => {
    const { key } = await installation.openAccount('dev_100');
    // The rows of its downloads are there: nothing but the header needs the log.
    const { request_token: known } = await queue(api.url, key, { url: installation.sampleUrl('private') });
    await waitFor(async () => creditsOf(await statusOf(other.url, key, known)) === 99, {
      what: 'the row of the charge',
    });
    projector.pause();
    try {
      const { token, left } = await download(api.url, key);
      expect(left).toBe(98);
      const metadata = `/video/metadata?url=${encodeURIComponent(installation.sampleUrl('private'))}`;
      const answers = {
        'a poll of it': await statusOf(api.url, key, token),
        'a poll of another': await statusOf(api.url, key, known),
        'a poll that waits': await call(api.url, `/video/status?token=${known}`, {
          key,
          headers: { prefer: 'wait=1' },
        }),
        'a poll of nothing': await statusOf(api.url, key, 'nothing'),
        'bad input': await call(api.url, '/video/download', { key, body: {} }),
        'metadata that there is not': await call(api.url, metadata, { key }),
        credits: await call(api.url, '/credits', { key }),
      };
      expect(Object.entries(answers).map(([name, answer]) => [name, creditsOf(answer)])).toEqual(
        Object.keys(answers).map((name) => [name, 98]),
      );
      let limited: Answer | undefined;
      while (limited?.status !== 429) limited = await statusOf(api.url, key, known);
      expect(creditsOf(limited)).toBe(98);
    } finally {
      projector.resume();
    }
  });

  it('is right on the poll directly after each 202, and soon at another process', async () => {
    const { key } = await installation.openAccount('enterprise');
    const others = await issueKey(api.url, key);
    const { token: known } = await download(api.url, key);
    await waitFor(async () => (await statusOf(other.url, others, known)).status === 200, {
      what: 'the first download',
    });
    for (let round = 0; round < scaled(20, 40); round += 1) {
      const { token, left } = await download(api.url, key);
      const sinceMs = performance.now();
      expect(creditsOf(await statusOf(api.url, key, token))).toBe(left);
      // Of a download that has a row: the poll of a new one asks the log.
      await waitFor(async () => creditsOf(await statusOf(other.url, others, known)) === left, {
        what: 'the other process',
        pollMs: 5,
      });
      behindMs.push(performance.now() - sinceMs);
    }
  });
});
