import { expect, test } from 'vitest';
import { demoOf, shareService } from '../http/shared-service.ts';
import { ended, queue } from '../support/downloads.ts';

const service = shareService();

test('with PORT=0 the system chooses the port, and links and the reference name it', async () => {
  await using api = await service.startRole('api', { PORT: '0' });
  expect(api.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  const { key } = demoOf(service);
  const wanted = { url: service.sampleUrl('bars'), quality: '360' } as const;
  const { request_token: token } = await queue(api.url, key, wanted);
  const { download_url: link } = (await ended(api.url, key, token)) as { download_url: string };
  expect(new URL(link).origin).toBe(api.url);
  expect((await fetch(link, { method: 'HEAD' })).status).toBe(200);
  expect(await (await fetch(`${api.url}/docs`)).text()).toContain(`${api.url}/api/v1`);
});
