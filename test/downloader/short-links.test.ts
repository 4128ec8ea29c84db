import { describe, expect, it } from 'vitest';
import { createShortLinkResolver, type ShortLinkResult } from '../../src/downloader/short-links.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { redirectTo, type ShortLinkHosts, startShortLinkHosts } from './short-link-hosts.ts';

const link = 'https://vm.tiktok.com/ZSabc123/';
const item = 'https://www.tiktok.com/@somebody/video/7000000000000000001';
type Answer = ReturnType<typeof redirectTo>;
const unresolved = (detail: string) => ({
  ok: false,
  passing: false,
  detail: expect.stringContaining(detail) as string,
});

async function resolve(
  answers: Parameters<typeof startShortLinkHosts>[0],
  { url = link, timeoutMs = patienceMs }: { url?: string; timeoutMs?: number } = {},
): Promise<{ result: ShortLinkResult; hosts: Pick<ShortLinkHosts, 'connections' | 'requests'> }> {
  await using hosts = await startShortLinkHosts(answers);
  const { connect, certificateAuthorities } = hosts;
  const result = await createShortLinkResolver({ connect, certificateAuthorities, timeoutMs })(url);
  // Whatever came of it, nothing is left open.
  await waitFor(async () => (await hosts.open()) === 0, { what: 'the end of all connections' });
  return { result, hosts };
}

describe('a short link', () => {
  it.each([301, 302, 303, 307, 308])(
    'that is redirected with %i stands for the item it is redirected to',
    async (status) => {
      const { result, hosts } = await resolve({ 'vm.tiktok.com/ZSabc123/': redirectTo(`${item}?_r=1&_t=x`, status) });
      expect(result).toEqual({ ok: true, url: item });
      // The item itself is not asked for.
      expect(hosts.requests).toEqual(['GET vm.tiktok.com/ZSabc123/']);
      expect(hosts.connections).toEqual(['vm.tiktok.com:443']);
    },
  );

  it('is followed over several hosts of the platform', async () => {
    const { result, hosts } = await resolve(
      {
        'pin.it/3abcDEF': redirectTo('https://api.pinterest.com/url_shortener/3abcDEF/redirect/', 308),
        'api.pinterest.com/url_shortener/3abcDEF/redirect/': redirectTo(
          'https://www.pinterest.com/pin/664281013778109217/sent/?invite_code=x',
        ),
      },
      { url: 'https://pin.it/3abcDEF' },
    );
    expect(result).toEqual({ ok: true, url: 'https://www.pinterest.com/pin/664281013778109217/' });
    expect(hosts.connections).toEqual(['pin.it:443', 'api.pinterest.com:443']);
  });

  it('may be redirected relative to itself', async () => {
    const { result } = await resolve({
      'vm.tiktok.com/ZSabc123/': redirectTo('//www.tiktok.com/t/ZSabc123/'),
      'www.tiktok.com/t/ZSabc123/': redirectTo('/@somebody/video/7000000000000000001'),
    });
    expect(result).toEqual({ ok: true, url: item });
  });

  it.each([
    ['another site', 'https://example.com/@somebody/video/7000000000000000001'],
    ['another platform', 'https://www.youtube.com/watch?v=dQw4w9WgXcQ'],
    ['a look-alike', 'https://www.tiktok.com.example.com/@somebody/video/7000000000000000001'],
    ['a user name in front of the host', 'https://www.tiktok.com@example.com/'],
    ['an address of this machine', 'http://127.0.0.1:8080/'],
    ['a service of this network', 'http://169.254.169.254/latest/meta-data/'],
    ['a port of its own', 'https://www.tiktok.com:8443/@somebody/video/7000000000000000001'],
    ['a file', 'file:///etc/passwd'],
    ['nothing that is an address', 'https://['],
    ['an app', 'snssdk1233://aweme/detail/7000000000000000001'],
    ['an address that is too long', `https://www.tiktok.com/${'x'.repeat(3_000)}`],
  ])('that leads to %s is not followed', async (_what, location) => {
    const { result, hosts } = await resolve({ 'vm.tiktok.com/ZSabc123/': redirectTo(location) });
    expect(result.ok).toBe(false);
    expect(hosts.connections).toEqual(['vm.tiktok.com:443']);
  });

  it('is not followed without TLS', async () => {
    const { result, hosts } = await resolve({
      'vm.tiktok.com/ZSabc123/': redirectTo('http://www.tiktok.com/t/ZSabc123/'),
    });
    expect(result).toEqual(unresolved('TLS'));
    expect(hosts.connections).toEqual(['vm.tiktok.com:443']);
  });

  it('that leads to no single item stands for none', async () => {
    const { result } = await resolve({ 'vm.tiktok.com/ZSabc123/': redirectTo('https://www.tiktok.com/@somebody') });
    expect(result).toEqual(unresolved('nowhere'));
  });

  it.each<[string, Answer]>([
    ['shows a page', (response) => void response.end('<html>')],
    ['is unknown', redirectTo(item, 404)],
    ['redirects to nothing', (response) => void response.writeHead(302).end()],
  ])('that %s stands for no item', async (_what, answer) => {
    const { result } = await resolve({ 'vm.tiktok.com/ZSabc123/': answer });
    expect(result).toEqual(unresolved('nowhere'));
  });

  it.each<[string, Answer]>([
    ...[401, 403, 408, 425, 429, 500, 502, 503, 504, 520].map((status): [string, Answer] => [
      `answers ${status}`,
      redirectTo(item, status),
    ]),
    ['resets the connection', (response) => void response.socket?.destroy()],
    ['breaks off in the head', (response) => void response.socket?.end('HTTP/1.1 302 Found\r\nLocation: https://www.')],
    ['speaks no HTTP', (response) => void response.socket?.end('busy\r\n\r\n')],
    ['hangs', () => undefined],
  ])('whose platform %s says nothing of the link', async (_what, answer) => {
    const second = { 'www.tiktok.com/t/ZSabc123/': answer };
    const first = redirectTo('https://www.tiktok.com/t/ZSabc123/');
    for (const answers of [{ 'vm.tiktok.com/ZSabc123/': answer }, { 'vm.tiktok.com/ZSabc123/': first, ...second }]) {
      const { result } = await resolve(answers, { timeoutMs: 1_000 });
      expect(result).toMatchObject({ ok: false, passing: true });
    }
  });

  it.each([400, 404, 410, 451])('that its platform answers with %i leads nowhere', async (status) => {
    const { result } = await resolve({ 'vm.tiktok.com/ZSabc123/': redirectTo(item, status) });
    expect(result).toEqual(unresolved('nowhere'));
  });

  it('that leads back to itself is given up after a few requests', async () => {
    const { result, hosts } = await resolve({ 'vm.tiktok.com/ZSabc123/': redirectTo(link) });
    expect(result).toEqual(unresolved('within 5 requests'));
    expect(hosts.requests).toHaveLength(5);
  });

  it('is given up at its time limit, whoever is slow', async () => {
    const silent = () => undefined;
    const { result } = await resolve({ 'vm.tiktok.com/ZSabc123/': silent }, { timeoutMs: 300 });
    expect(result.ok).toBe(false);
    const neverConnected = await createShortLinkResolver({
      timeoutMs: 300,
      connect: (_host, _port, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('not in time')))),
    })(link);
    expect(neverConnected).toEqual({ ok: false, passing: true, detail: 'not in time' });
  });

  it('is read from the head of an answer: of an endless body nothing is read', async () => {
    let sentBytes = 0;
    const { result } = await resolve({
      'vm.tiktok.com/ZSabc123/': (response) => {
        response.writeHead(302, { location: item });
        const send = () => {
          while (!response.destroyed) {
            sentBytes += 65_536;
            if (!response.write(Buffer.alloc(65_536))) break;
          }
        };
        response.on('drain', send).on('error', () => undefined);
        send();
      },
    });
    expect(result).toEqual({ ok: true, url: item });
    expect(sentBytes).toBeLessThan(20_000_000);
  });

  it('with an answer whose head is too long stands for no item', async () => {
    const { result } = await resolve({
      'vm.tiktok.com/ZSabc123/': (response) => {
        response.writeHead(302, { location: item, 'x-long': 'x'.repeat(40_000) }).end();
      },
    });
    expect(result).toMatchObject({ ok: false });
  });

  it('is not asked for at a host that cannot show its certificate', async () => {
    const { result, hosts } = await resolve(
      { 'vt.tiktok.com/ZSabc123/': redirectTo(item) },
      { url: 'https://vt.tiktok.com/ZSabc123/' },
    );
    expect(result.ok).toBe(false);
    expect(hosts.requests).toEqual([]);
  });

  it('is not asked for where the connection is refused', async () => {
    const connect = () => Promise.reject(new Error('this address may not be reached'));
    const resolver = createShortLinkResolver({ connect, timeoutMs: 1_000 });
    expect(await resolver(link)).toEqual({ ok: false, passing: true, detail: 'this address may not be reached' });
  });

  it.each([item, 'https://example.com/ZSabc123', 'http://127.0.0.1:8080/s/x', ''])(
    'is nothing else: %s is not asked for',
    async (url) => {
      const { result, hosts } = await resolve({}, { url });
      expect(result.ok).toBe(false);
      expect(hosts.connections).toEqual([]);
    },
  );
});
