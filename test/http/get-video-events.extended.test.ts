import { expect, it } from 'vitest';
import { followDownloads } from '../../src/client/follow-downloads.ts';
import { apiClient } from '../support/client.ts';
import { accountWithDownloads } from '../support/downloads.ts';
import { scaled } from '../support/proof-scale.ts';
import { takeJobs, waitForJob } from './engines-behind.ts';
import { noDownloads, ownService } from './shared-service.ts';

/** Nothing happens to a job here but what a test does; its read models are rebuilt. */
const service = ownService(noDownloads);

it('GET /video/events leaves out no download and tells none twice, at either process, though many end at a time', async () => {
  await using other = await service.startRole('api');
  const count = scaled(60, 400);
  const items = Array.from({ length: count }, () => 'bars');
  const { key, tokens } = await accountWithDownloads(service, items, 'enterprise');
  await waitForJob(service, tokens.at(-1) ?? '');
  const follow = async (url: string): Promise<string[]> => {
    const told: string[] = [];
    for await (const { events } of followDownloads(apiClient(url, key))) {
      told.push(...events.map(({ request_token: token }) => token));
      if (told.length >= count) break;
    }
    return told;
  };
  const followed = [service.url, other.url].map(follow);
  const rebuild = async () => {
    await service.cli('projections', 'rebuild', 'usage_and_jobs');
  };
  const [first, second] = await Promise.all([...followed, takeJobs(service, tokens, { failing: true }), rebuild()]);
  expect((first as string[]).toSorted()).toEqual(tokens.toSorted());
  expect(second).toEqual(first);
});
