import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';
import { listen } from '../support/listen.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { deployFile } from './compose-file.ts';

/** The program is Debian's package `caddy`. */
const isWithoutCaddy = spawnSync('caddy', ['version']).status !== 0;

interface Proxy extends AsyncDisposable {
  url: string;
  queueDownload: () => Promise<Response>;
}

/** Caddy with its settings of `deploy`, but for the address of the only API, and the time in which it looks for one. */
async function startProxy(apiPort: number): Promise<Proxy> {
  const directory = temporaryDirectory();
  const settings = deployFile('caddy/Caddyfile')
    .replace(/dynamic a api 8080 \{[^}]*\}/, `to 127.0.0.1:${apiPort}`)
    .replace('lb_try_duration 10s', 'lb_try_duration 100ms');
  const file = join(directory, 'Caddyfile');
  writeFileSync(file, settings);
  const url = `http://127.0.0.1:${await freePort()}`;
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { ...process.env, PUBLIC_URL: url, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    stdio: 'ignore',
  });
  // By a path that it answers itself.
  await waitFor(() => fetch(`${url}/healthz`).catch(() => undefined), { what: 'Caddy' });
  return {
    url,
    queueDownload: () => fetch(`${url}/api/v1/video/download`, { method: 'POST', body: '{}' }),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

/** An API that answers like this. */
async function startApi(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'POST') asked.push(request.url ?? '');
    request.resume().on('end', () => answer(request, response));
  });
  const { port, close } = await listen(server);
  return { port, asked, [Symbol.asyncDispose]: close };
}

it.skipIf(isWithoutCaddy)('the proxy closes the connection where the API does, and asks no other', async () => {
  await using api = await startApi((_, response) => void response.destroy());
  await using proxy = await startProxy(api.port);
  await expect(proxy.queueDownload()).rejects.toThrow('fetch failed');
  expect(api.asked).toEqual(['/api/v1/video/download']);
});

it.skipIf(isWithoutCaddy)('the proxy passes what the API says', async () => {
  await using api = await startApi(
    (_, response) => void response.writeHead(502, { 'Retry-After': '7' }).end('not charged'),
  );
  await using proxy = await startProxy(api.port);
  const answer = await proxy.queueDownload();
  expect([answer.status, answer.headers.get('Retry-After'), await answer.text()]).toEqual([502, '7', 'not charged']);
});

it.skipIf(isWithoutCaddy)('the proxy says that it has reached no API', async () => {
  await using proxy = await startProxy(await freePort());
  expect((await proxy.queueDownload()).status).toBe(502);
});

it.skipIf(isWithoutCaddy)('the proxy has browsers use HTTPS alone, whatever it answers', async () => {
  await using api = await startApi((_, response) => void response.end('{}'));
  await using proxy = await startProxy(api.port);
  const [passed, own] = [await proxy.queueDownload(), await fetch(`${proxy.url}/healthz`)];
  expect([passed, own].map(({ headers }) => headers.get('Strict-Transport-Security'))).toEqual(
    Array(2).fill('max-age=31536000'),
  );
});
