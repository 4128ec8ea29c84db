import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import pMap from 'p-map';
import { beforeAll, describe, expect, it } from 'vitest';
import { installClient } from '../client/installed-client.ts';
import { creditsOf, exhaust } from '../http/requests.ts';
import { shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { listen } from '../support/listen.ts';
import { whyNoPython } from '../support/python.ts';
import { temporaryDirectory, temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { root } from '../tidy/source-files.ts';
import { startInterferingProxy } from './interfering-proxy.ts';

/** The programs of docs/examples/client, each of which does the same in its language, beside a service that really runs. */
const folder = join(root, 'docs/examples/client');
const service = shareService();
const directory = temporaryDirectoryOfFile();

/** How each is run, from a folder in which the client is installed. Without Python, the end of the run says so. */
const interpreters: Readonly<Record<string, string>> = {
  'curl.sh': 'sh',
  'typescript.ts': process.execPath,
  ...(whyNoPython() === undefined && { 'python.py': 'python3' }),
};

/** It goes on until it is stopped, unlike the others. */
const relay = 'relay-webhooks.ts';

let installed: string;
beforeAll(async () => {
  const client = await installClient(directory);
  installed = client.folder;
  for (const name of [...Object.keys(interpreters), relay]) cpSync(join(folder, name), join(installed, name));
});

interface Given {
  key: string;
  url?: string;
}

async function run(name: string, words: readonly string[], { key, url = service.url }: Given) {
  const { PATH = '' } = process.env;
  const child = spawn(interpreters[name] ?? name, [join(installed, name), ...words], {
    env: { PATH, REELTALLY_URL: url, REELTALLY_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}

const newKey = async (plan = 'dev_100') => (await service.openAccount(plan)).key;

it('each example is run here', () => {
  const programs = readdirSync(folder).filter((name) => name !== 'tsconfig.json');
  const leftOut = whyNoPython() === undefined ? [] : ['python.py'];
  expect([...Object.keys(interpreters), relay, ...leftOut].sort()).toEqual(programs.sort());
});

describe.each(Object.keys(interpreters))('docs/examples/client/%s', (name) => {
  const bars = () => service.sampleUrl('bars');

  it('saves the file, charged once, though answers are lost and the service is busy', async () => {
    const key = await newKey();
    const busy = { status: 503, code: 'unavailable', retryAfterSeconds: 1 };
    await using proxy = await startInterferingProxy(service.url, {
      '/video/metadata': [{ status: 429, code: 'rate_limited', retryAfterSeconds: 1 }],
      // The download is queued and charged by the request whose answer is lost.
      '/video/download': ['lost answer', busy],
      '/video/status': [busy],
    });
    const file = join(temporaryDirectory(), 'film.mp4');
    const begin = performance.now();
    const ran = await run(name, ['--check', bars(), file, 'order-1842'], { key, url: proxy.url });
    expect(ran).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^title: .+\nqueued: .+\nsaved: .+\n$/) as string,
    });
    // The pauses that the answers asked for.
    expect(performance.now() - begin).toBeGreaterThan(3_900);
    const count = (path: string) => proxy.paths().filter((asked) => asked === path).length;
    expect([count('/video/metadata'), count('/video/download')]).toEqual([2, 3]);
    expect(count('/video/status')).toBe(2);
    expect(statSync(file).size).toBeGreaterThan(1_000);
    const again = await run(name, [bars(), file, 'order-1842'], { key });
    expect(again.code).toBe(0);
    const { downloads, metadata } = await creditsOf(service.url, key);
    expect([downloads.used, metadata.used]).toEqual([1, 1]);
  });

  it('saves twenty films, eight at a time, within a limit of thirty requests an hour', async () => {
    const key = await newKey('dev_100');
    const directory = temporaryDirectory();
    await using proxy = await startInterferingProxy(service.url, {});
    const files = Array.from({ length: 20 }, (_, index) => join(directory, `${String(index)}.mp4`));
    const ran = await pMap(files, async (file) => await run(name, [bars(), file], { key, url: proxy.url }), {
      concurrency: 8,
    });
    expect(ran.map(({ code, stderr }) => ({ code, stderr }))).toEqual(files.map(() => ({ code: 0, stderr: '' })));
    for (const file of files) expect(statSync(file).size).toBeGreaterThan(1_000);
    // One request to queue each, one poll each, and no other: none was refused, and sent again.
    expect(proxy.paths().filter((path) => path === '/video/download')).toHaveLength(20);
    expect(proxy.statuses().filter((status) => status === 429)).toEqual([]);
    const { headers } = await call(service.url, '/credits', { key });
    expect(headers.get('x-ratelimit-remaining')).toBe('9');
  });

  it('queues nothing that the service says beforehand would fail', async () => {
    const key = await newKey();
    const { code, stderr } = await run(name, ['--check', service.sampleUrl('long'), 'film.mp4'], { key });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/too_long.*\n$/) as string });
    const { downloads, metadata } = await creditsOf(service.url, key);
    expect([downloads.used, metadata.used]).toEqual([0, 1]);
  });

  it('asks once for the metadata of a film that is gone', async () => {
    const key = await newKey();
    await using proxy = await startInterferingProxy(service.url, {});
    const words = ['--check', service.sampleUrl('gone'), 'film.mp4'];
    const { code, stderr } = await run(name, words, { key, url: proxy.url });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('has been removed') as string });
    expect(proxy.paths()).toEqual(['/video/metadata']);
  });

  it('saves no error as the film', async () => {
    const key = await newKey();
    const file = join(temporaryDirectory(), 'film.mp4');
    await using proxy = await startInterferingProxy(service.url, { '/video/status': ['broken link'] });
    const { code, stderr } = await run(name, [bars(), file], { key, url: proxy.url });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/not fetched.*token/) as string });
    expect(readdirSync(dirname(file))).toEqual([]);
  });

  it('says that the allowance is used up', async () => {
    const file = join(temporaryDirectory(), 'film.mp4');
    const { code, stderr } = await run(name, [bars(), file], { key: await newKey('sandbox') });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /\(download_quota_exceeded\)[^]*Nothing was charged. Try again when the next/i,
      ) as string,
    });
    expect(existsSync(file)).toBe(false);
  });

  it('does not wait an hour for the hourly window', async () => {
    const key = await newKey('sandbox');
    await exhaust(service.url, key);
    const { code, stderr } = await run(name, [bars(), 'film.mp4'], { key });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('(rate_limited)') as string });
  });

  it('says why a download failed, with its token, and which words it needs', async () => {
    const key = await newKey();
    const failed = await run(name, [service.sampleUrl('long'), 'film.mp4'], { key });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/too_long/);
    expect(failed.stderr).toMatch(/token [\w-]{20}/);
    expect(await run(name, [bars()], { key })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^usage: /) as string,
    });
    expect(await run(name, [bars(), 'film.mp4'], { key: '' })).toMatchObject({ code: 2 });
  });
});

/** A receiver of webhooks as https://www.standardwebhooks.com wants it. @param refuses how many it does not take at first */
async function startReceiver(secret: Buffer, refuses: number) {
  const taken: { id: string; body: { type: string; timestamp: string; data: Record<string, unknown> } }[] = [];
  const refused: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) =>
        String(request.headers[`webhook-${name}`]),
      );
      const own = createHmac('sha256', secret).update([id, timestamp, body].join('.')).digest('base64');
      const isFresh = Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300;
      if (signature !== `v1,${own}` || !isFresh || refused.length < refuses) {
        refused.push(String(id));
        response.writeHead(500).end();
        return;
      }
      taken.push({ id: String(id), body: JSON.parse(body) as (typeof taken)[number]['body'] });
      response.writeHead(204).end();
    });
  });
  const listening = await listen(server);
  return { taken, refused, url: `http://127.0.0.1:${String(listening.port)}/hook`, listening };
}

describe(`docs/examples/client/${relay}`, () => {
  const start = (words: readonly string[], environment: Record<string, string>) => {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [join(installed, relay), ...words], {
      env: { PATH, ...environment },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return { closed: once(child, 'close') as Promise<[number | null]>, kill: () => child.kill() };
  };

  it('sends a signed webhook for each download that ends, again where it was not taken, and goes on after a stop', async () => {
    const key = await newKey();
    const secret = randomBytes(32);
    const receiver = await startReceiver(secret, 1);
    await using _ = receiver.listening;
    const cursorFile = join(temporaryDirectory(), 'cursor');
    const environment = {
      REELTALLY_URL: service.url,
      REELTALLY_KEY: key,
      WEBHOOK_URL: receiver.url,
      WEBHOOK_SECRET: `whsec_${secret.toString('base64')}`,
    };
    const queued = async (item: string) =>
      (await queue(service.url, key, { url: service.sampleUrl(item), quality: '360' })).request_token;
    const untilTaken = (token: string) =>
      waitFor(() => receiver.taken.some(({ id }) => id === `download_${token}`), { what: `the webhook of ${token}` });

    const first = start([cursorFile], environment);
    const tokens = [await queued('bars'), await queued('private')];
    for (const token of tokens) await untilTaken(token);
    await waitFor(() => existsSync(cursorFile), { what: 'the cursor' });
    first.kill();
    await first.closed;
    expect(receiver.refused).toHaveLength(1);
    // Refused once, and with the same id when it was taken.
    expect(receiver.taken.map(({ id }) => id)).toContain(receiver.refused[0]);
    expect(receiver.taken.map(({ id }) => id).sort()).toEqual(tokens.map((token) => `download_${token}`).sort());
    const done = receiver.taken.find(({ body }) => body.type === 'download.done')?.body;
    expect(done?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await fetch(String(done?.data['download_url']))).status).toBe(200);
    const failed = receiver.taken.find(({ body }) => body.type === 'download.failed')?.body;
    expect(failed?.data).toMatchObject({ error: 'private_video', charge: { credits: 1 } });

    const third = await queued('private');
    const second = start([cursorFile], environment);
    // One that was sent before its cursor was kept may come once more.
    await untilTaken(third);
    second.kill();
    await second.closed;
  });

  it('says which words it needs, and ends where the key is refused', async () => {
    const environment = { REELTALLY_URL: service.url, WEBHOOK_URL: 'http://127.0.0.1:1', WEBHOOK_SECRET: 'whsec_AAAA' };
    expect(await start([], { ...environment, REELTALLY_KEY: 'x' }).closed).toEqual([2, null]);
    const refused = start([join(temporaryDirectory(), 'cursor')], { ...environment, REELTALLY_KEY: 'x' });
    expect(await refused.closed).toEqual([1, null]);
  });
});
