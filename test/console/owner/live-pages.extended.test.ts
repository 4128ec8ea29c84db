import { expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { queue } from '../../support/downloads.ts';
import { readMetric } from '../../support/scraped-metrics.ts';
import { waitFor } from '../../support/wait-for.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();
const { installation } = service;

it('a live page takes one place among what waits, however many downloads it shows', async () => {
  const own = await opened('many@example.com');
  const { url } = service.api;
  const tokens = [own.token];
  for (let each = 0; each < 2; each += 1)
    tokens.push((await queue(url, own.key, { url: installation.sampleUrl('bars') })).request_token);
  await waitFor(async () => (await service.sql('select from jobs where token = any($1)', [tokens])).length === 3, {
    what: 'the downloads in the read model',
  });
  const browser = await service.newSession({ accountId: own.accountId, personId: openerOf(own.accountId) });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const left = new AbortController();
  const address = `${url}/console/downloads/live?${tokens.map((token) => `token=${token}`).join('&')}`;
  const page = await fetch(address, { headers: { cookie }, signal: left.signal });
  const reader = page.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (tokens.some((token) => !seen.includes(token))) seen += (await reader.read()).value ?? '';
  const waiting = () => readMetric(url, 'reeltally_waiting_polls');
  await waitFor(async () => (await waiting()) !== 0, { what: 'the page to wait' });
  expect(await waiting()).toBe(1);
  left.abort();
  await waitFor(async () => (await waiting()) === 0, { what: 'its place to be free' });
});

it('a live page shows downloads of its own account alone, and ends when the process does', async () => {
  const [own, foreign] = [await opened('own@example.com'), await opened('foreign@example.com')];
  const browser = await service.newSession({ accountId: own.accountId, personId: openerOf(own.accountId) });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const address = `${service.api.url}/console/downloads/live?token=${foreign.token}&token=${own.token}`;
  const page = await fetch(address, { headers: { cookie } });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const reader = page.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (!seen.includes('data: ')) seen += (await reader.read()).value ?? '';
  expect(seen).toContain(`"token":"${own.token}","status":"queued"`);
  expect(seen).not.toContain(foreign.token);

  expect(await service.api.stop()).toBe(0);
  while (!(await reader.read()).done);
});

/** An account with a download that waits: no worker runs. */
async function opened(email: string): Promise<{ accountId: string; key: string; token: string }> {
  const accountId = await service.openAccount(email);
  const { key } = await installation.cli<{ key: string }>(['keys', 'issue', accountId]);
  const { request_token: token } = await queue(service.api.url, key, { url: installation.sampleUrl('bars') });
  return { accountId, key, token };
}
