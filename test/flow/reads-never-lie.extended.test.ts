import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import { queue, statusOf } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';

/** What a client has been told stays true, on every process, however far the read models are behind. */
const installation = installationOfFile();
let apis: [ServiceProcess, ServiceProcess];
let projector: ServiceProcess;

beforeAll(async () => {
  projector = await installation.startRole('projector');
  apis = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
});

const openAccount = () => installation.openAccount('enterprise');

async function used(api: string, key: string): Promise<number> {
  const { data, headers } = await call(api, '/credits', { key });
  const downloads = data['downloads'] as { limit: number; used: number; remaining: number };
  expect(downloads.used + downloads.remaining).toBe(downloads.limit);
  expect(headers.get('x-credits-remaining')).toBe(String(downloads.remaining));
  return downloads.used;
}

async function queueAndLook(key: string, rounds: number): Promise<void> {
  const before = await used(apis[0].url, key);
  for (let round = 1; round <= rounds; round += 1) {
    const [asked, other] = round % 2 === 0 ? apis : [apis[1], apis[0]];
    const { request_token: token } = await queue(asked.url, key, { url: installation.sampleUrl('private') });
    const looks = await Promise.all([asked, other].map((api) => statusOf(api.url, key, token)));
    for (const { status, data } of looks) {
      expect(status).toBe(200);
      expect(data).toMatchObject({ request_token: token, video_id: 'private', status: 'queued' });
    }
    expect(await Promise.all([asked, other].map((api) => used(api.url, key)))).toEqual([
      before + round,
      before + round,
    ]);
  }
}

describe('right after a 202', () => {
  test('every process knows the job and the charge', async () => {
    const { key } = await openAccount();
    await queueAndLook(key, scaled(20, 70));
  });

  test('so it is with the projector stopped, and a foreign token stays unknown', async () => {
    const [{ key }, other] = [await openAccount(), await openAccount()];
    projector.pause();
    try {
      await queueAndLook(key, scaled(10, 60));
      const { request_token: token } = await queue(apis[0].url, key, { url: installation.sampleUrl('bars') });
      const foreign = await statusOf(apis[1].url, other.key, token);
      expect(foreign).toMatchObject({ status: 404, code: 'not_found' });
    } finally {
      projector.resume();
    }
  });
});
