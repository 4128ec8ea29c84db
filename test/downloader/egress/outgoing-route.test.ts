import { createServer as createListener, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEgressGuard, type EgressGuardOptions } from '../../../src/downloader/egress/connection-guard.ts';
import { dial, OutgoingRouteFailed } from '../../../src/downloader/egress/outgoing-route.ts';
import { startEgressProxy } from '../../../src/downloader/egress/proxy.ts';
import { listen } from '../../support/listen.ts';
import {
  type OutgoingProxyOfTest,
  proxyAuthorization,
  proxySecret,
  startOutgoingProxy,
} from '../../support/outgoing-proxy.ts';
import { exchange } from './exchange.ts';

/** A site that says from where it was reached, and the proxies that lead to it. */
async function startSite() {
  const server = createListener((socket) => socket.on('error', () => undefined).end(socket.remoteAddress ?? ''));
  const site = await listen(server);
  onTestFinished(() => site.close());
  return site;
}

async function startProxy(options: Parameters<typeof startOutgoingProxy>[0] = {}): Promise<OutgoingProxyOfTest> {
  const proxy = await startOutgoingProxy(options);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

const through = ({ host, port }: Pick<OutgoingProxyOfTest, 'host' | 'port'>, authorization = proxyAuthorization) => ({
  proxy: { host, port, authorization },
});

function guardWith(routeTo: EgressGuardOptions['routeTo'], more: Partial<EgressGuardOptions> = {}) {
  const failed: unknown[] = [];
  const addresses: Record<string, string[]> = {
    'film.example': ['93.184.216.34'],
    'six.example': ['2606:4700::1'],
    'inside.example': ['10.0.0.1'],
    'mixed.example': ['93.184.216.34', '127.0.0.1'],
  };
  const guard = createEgressGuard({
    allowed: [],
    onRefused: () => undefined,
    resolve: async (name) => addresses[name] ?? [],
    ...(routeTo && { routeTo }),
    onRouteFailed: (failure) => failed.push(failure),
    ...more,
  });
  return { guard, failed };
}

const said = (socket: Socket) => text(socket);

test('a connection that fails before its next owner listens does not end the process', async () => {
  const { port } = await startSite();
  const socket = await dial('127.0.0.1', port, AbortSignal.timeout(10_000));
  // Nobody here listens for errors.
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.destroy(new Error('reset'));
  await closed;
  expect(socket.errored?.message).toBe('reset');
});

describe('an outgoing proxy', () => {
  test('is given the address that the guard has checked, never a name', async () => {
    const { port } = await startSite();
    const proxy = await startProxy({ leadTo: port });
    const { guard } = guardWith(() => through(proxy));
    expect(await said(await guard.connect('film.example', 443))).toBe('127.0.0.1');
    expect(await said(await guard.connect('six.example', 80))).toBe('127.0.0.1');
    expect(proxy.asked.map(({ target }) => target)).toEqual(['93.184.216.34:443', '[2606:4700::1]:80']);
  });

  test.each(['inside.example', 'mixed.example', '169.254.169.254', '[::1]', '127.0.0.1'])(
    'hears nothing of %s, which the guard refuses',
    async (host) => {
      const proxy = await startProxy();
      const { guard } = guardWith(() => through(proxy));
      await expect(guard.connect(host, 443)).rejects.toMatchObject({ name: 'EgressRefused', reason: 'not_public' });
      expect(proxy.asked).toEqual([]);
    },
  );

  test('is the one of the platform for which a connection is made', async () => {
    const { port } = await startSite();
    const [one, other] = [await startProxy({ leadTo: port }), await startProxy({ leadTo: port })];
    const { guard } = guardWith((platform) => through(platform === 'vimeo' ? other : one));
    await said(await guard.connect('film.example', 443, undefined, 'youtube'));
    await said(await guard.connect('film.example', 443, undefined, 'vimeo'));
    expect([one.asked.length, other.asked.length]).toEqual([1, 1]);
  });

  test('that refuses by its rules is no fault of the platform', async () => {
    const proxy = await startProxy({ answer: 403 });
    const { guard, failed } = guardWith(() => through(proxy));
    await expect(guard.connect('film.example', 443, undefined, 'vimeo')).rejects.toBeInstanceOf(OutgoingRouteFailed);
    expect(failed).toEqual([{ platform: 'vimeo', reason: 'The outgoing proxy answered 403.' }]);
  });

  test('whose credentials are wrong, or that is away, fails the route without a word of the secret', async () => {
    const proxy = await startProxy();
    const wrong = guardWith(() => through(proxy, `Basic ${proxySecret}`));
    const error = await wrong.guard.connect('film.example', 443).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutgoingRouteFailed);
    expect(String(error)).toBe('OutgoingRouteFailed: The outgoing proxy answered 407.');
    const { port, close } = await listen(createListener());
    await close();
    const away = guardWith(() => through({ host: '127.0.0.1', port }));
    await expect(away.guard.connect('film.example', 443)).rejects.toThrow(/cannot be reached: ECONNREFUSED/);
    expect(away.failed).toHaveLength(1);
  });

  test('that does not reach the platform leaves the fault with the platform', async () => {
    const proxy = await startProxy({ answer: 503 });
    const { guard, failed } = guardWith(() => through(proxy));
    const error = await guard.connect('film.example', 443).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(OutgoingRouteFailed);
    expect(failed).toEqual([]);
  });

  test('that never answers is given up in time', async () => {
    const silent = await listen(createListener());
    onTestFinished(() => silent.close());
    const { guard } = guardWith(() => through({ host: '127.0.0.1', port: silent.port }), { timeoutMs: 50 });
    await expect(guard.connect('film.example', 443)).rejects.toThrow('The tunnel took too long.');
  });

  test('keeps a tunnel open past the time for making it', async () => {
    const echo = await listen(createListener((socket) => socket.on('error', () => undefined).pipe(socket)));
    onTestFinished(() => echo.close());
    const proxy = await startProxy({ leadTo: echo.port });
    const { guard } = guardWith(() => through(proxy), { timeoutMs: 1_500 });
    const socket = await guard.connect('film.example', 443);
    await new Promise((resolve) => AbortSignal.timeout(1_600).addEventListener('abort', resolve));
    socket.end('still there');
    expect(await said(socket)).toBe('still there');
  });
});

describe('a source address', () => {
  test('is where connections come from, to a platform and to a proxy', async () => {
    const { port } = await startSite();
    const allowed = [{ host: '127.0.0.1', port }];
    const direct = guardWith(() => ({ sourceAddress: '127.0.0.2' }), { allowed });
    expect(await said(await direct.guard.connect('127.0.0.1', port))).toBe('127.0.0.2');
    const proxy = await startProxy({ leadTo: port });
    const proxied = guardWith(() => ({ ...through(proxy), sourceAddress: '127.0.0.3' }));
    await said(await proxied.guard.connect('film.example', 443));
    expect(proxy.asked).toEqual([{ target: '93.184.216.34:443', from: '127.0.0.3' }]);
  });

  test('that this machine does not have fails the route', async () => {
    const { port } = await startSite();
    const { guard } = guardWith(() => ({ sourceAddress: '203.0.113.7' }), { allowed: [{ host: '127.0.0.1', port }] });
    await expect(guard.connect('127.0.0.1', port)).rejects.toBeInstanceOf(OutgoingRouteFailed);
  });

  test('reaches only addresses of its family', async () => {
    const dialled: string[] = [];
    const { guard } = guardWith(() => ({ sourceAddress: '198.51.100.1' }), {
      resolve: async () => ['2606:4700::1', '93.184.216.34'],
      dial: async (address) => {
        dialled.push(address);
        throw new Error('no');
      },
    });
    await expect(guard.connect('both.example', 443)).rejects.toThrow();
    expect(dialled).toEqual(['93.184.216.34']);
  });
});

test('an attempt goes by its platform, and its failures are counted', async () => {
  const { port } = await startSite();
  const proxy = await startProxy({ leadTo: port });
  const { guard } = guardWith((platform) => through(proxy, platform === 'vimeo' ? proxyAuthorization : 'Basic eDp5'));
  const egress = await startEgressProxy({ guard });
  onTestFinished(() => egress.close());
  const ask = async (platform: string) => {
    const credential = egress.admit({ maxBytes: 10_000, platform });
    const { username, password, port: at } = new URL(credential.proxyUrl);
    const own = Buffer.from(`${username}:${password}`).toString('base64');
    const heard = await exchange(
      Number(at),
      `CONNECT film.example:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic ${own}\r\n\r\n`,
    );
    return { heard, usage: credential.close() };
  };
  const allowed = await ask('vimeo');
  expect(allowed.heard).toBe('HTTP/1.1 200 Connection Established\r\n\r\n127.0.0.1');
  expect(allowed.usage).toMatchObject({ connections: 1, routeFailures: 0 });
  const refused = await ask('youtube');
  expect(refused.heard).toMatch(/^HTTP\/1\.1 502 /);
  expect(refused.usage).toMatchObject({ connections: 0, routeFailures: 1 });
});
