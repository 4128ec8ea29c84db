import { expect, it } from 'vitest';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

interface Told {
  name: string;
  id: string | undefined;
  data: { title?: string; status?: string };
}

/** Reads a stream until something was told, or it ends. */
async function readUntil(response: Response, isEnough: (told: readonly Told[]) => boolean): Promise<Told[]> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    // A process that ends may cut its connections.
    const { done, value = '' } = await reader.read().catch(() => ({ done: true, value: '' }));
    text += value;
    const told = toldIn(text);
    if (!done && !isEnough(told)) continue;
    await reader.cancel().catch(() => undefined);
    return told;
  }
}

const toldIn = (text: string): Told[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((block) => {
      const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      const name = fields.get('event');
      return name === undefined
        ? []
        : [{ name, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? '') as Told['data'] }];
    });

const titlesOf = (told: readonly Told[]) => told.filter(({ name }) => name === 'step').map(({ data }) => data.title);

it('a download is followed to its end, and behind the place at which the stream was lost', async () => {
  const { installation, api, staffUrl } = service;
  const { key } = await installation.openAccount('enterprise');
  const { request_token: token } = await queue(api.url, key, { url: installation.sampleUrl('private') });
  const browser = await service.signedInAs('support');
  await waitFor(async () => (await browser.get(`/staff/downloads/${token}`)).text.includes('Queued:'), {
    what: 'the timeline',
  });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const follow = (headers: Record<string, string> = {}, query = '') =>
    fetch(`${staffUrl}/staff/downloads/${token}/live${query}`, { headers: { cookie, ...headers } });

  const first = await follow();
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const seen = await readUntil(first, (told) => told.some(({ name }) => name === 'change'));
  expect(titlesOf(seen)).toEqual(['Charged', 'Queued:']);
  expect(seen.at(-1)?.data.status).toBe('queued');
  const last = seen.findLast(({ id }) => id !== undefined)?.id ?? '';

  const again = readUntil(await follow({ 'last-event-id': last }, '?after=0'), () => false);
  await Promise.all([installation.startRole('worker'), installation.startRole('dispatcher')]);
  const rest = await again;
  expect(titlesOf(rest)).toEqual(['Taken by a worker:', 'Started', 'Failed:']);
  expect(rest.at(-1)?.name).toBe('end');
  expect((await follow({ 'last-event-id': 'x' })).status).toBe(400);
});

it('a stream ends when the process does', async () => {
  const { installation, api, staffUrl } = service;
  const { key } = await installation.openAccount('enterprise');
  const { request_token: token } = await queue(api.url, key, { url: installation.sampleUrl('slow') });
  const browser = await service.signedInAs('support');
  await waitFor(async () => (await browser.get(`/staff/downloads/${token}`)).status === 200, { what: 'the download' });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const stream = await fetch(`${staffUrl}/staff/downloads/${token}/live`, { headers: { cookie } });
  const told = readUntil(stream, () => false);
  expect(await api.stop()).toBe(0);
  expect((await told).some(({ name }) => name === 'end')).toBe(false);
});
