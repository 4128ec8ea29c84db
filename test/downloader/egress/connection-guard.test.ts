import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createEgressGuard,
  type EgressGuardOptions,
  EgressRefused,
} from '../../../src/downloader/egress/connection-guard.ts';
import { listen, type Listening } from '../../support/listen.ts';
import { type Canaries, startCanaries } from './canaries.ts';

let canaries: Canaries;
const server = createServer((socket) => socket.on('error', () => undefined).end('hello'));
let listening: Listening;
beforeAll(async () => {
  canaries = await startCanaries();
  listening = await listen(server);
});
afterAll(async () => {
  expect(canaries.visits).toEqual([]);
  await canaries.close();
  await listening.close();
});

/** A guard whose public internet is one server of ours, and what it dialled and refused. */
function guardWith(options: Partial<EgressGuardOptions> = {}) {
  const { port } = listening;
  const dialled: string[] = [];
  const refused: string[] = [];
  const guard = createEgressGuard({
    allowed: [{ host: '127.0.0.1', port }],
    onRefused: ({ host, port: to, reason }) => refused.push(`${host}:${to} ${reason}`),
    dial: (address, to) => {
      dialled.push(`${address}:${to}`);
      return new Promise<Socket>((resolve, reject) => {
        const socket = connect({ host: '127.0.0.1', port });
        socket.once('connect', () => resolve(socket)).once('error', reject);
      });
    },
    ...options,
  });
  return { guard, dialled, refused };
}

describe('the guard', () => {
  test('connects to a public name by the address that it was resolved to', async () => {
    const { guard, dialled } = guardWith({ resolve: async () => ['93.184.216.34', '2606:4700::1'] });
    (await guard.connect('Example.COM', 443)).destroy();
    expect(dialled).toEqual(['93.184.216.34:443']);
  });

  test('resolves once: a second answer changes nothing', async () => {
    let asked = 0;
    const { guard, dialled } = guardWith({
      resolve: async () => ((asked += 1) === 1 ? ['93.184.216.34'] : ['127.0.0.1']),
    });
    (await guard.connect('rebinding.example', 80)).destroy();
    expect([asked, dialled]).toEqual([1, ['93.184.216.34:80']]);
    await expect(guard.connect('rebinding.example', 80)).rejects.toThrow(EgressRefused);
  });

  test.each([[['93.184.216.34', '10.0.0.1']], [['2606:4700::1', '::1']], [['::ffff:93.184.216.34']]])(
    'refuses a name when one of its addresses is not public: %j',
    async (addresses) => {
      const { guard, dialled, refused } = guardWith({ resolve: async () => addresses });
      await expect(guard.connect('mixed.example', 443)).rejects.toMatchObject({ reason: 'not_public' });
      expect([dialled, refused]).toEqual([[], ['mixed.example:443 not_public']]);
    },
  );

  test.each([
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '0', '0.0.0.0'],
    ...['localhost', 'localhost.', '127.0.0.1.', '[::1]', '::1', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]', '[::]'],
    ...['169.254.169.254', '[fd00:ec2::254]', '[64:ff9b::7f00:1]', '192.168.0.1', '10.1'],
  ])('refuses %s, however it is spelled', async (host) => {
    // Resolved by the system, which knows the odd spellings of addresses. What it does not know is not reached either.
    const { guard, dialled } = guardWith();
    await expect(guard.connect(host, 80)).rejects.toThrow();
    expect(dialled).toEqual([]);
  });

  test.each([
    '',
    ' ',
    'a b',
    'user@host',
    'host/path',
    'host:80',
    '[::1',
    'fe80::1%lo',
    'exämple',
    'a\r\nb',
    '-a.b',
    'a..b',
  ])('does not even look up %j', async (host) => {
    const { guard, refused } = guardWith({ resolve: () => Promise.reject(new Error('was looked up')) });
    await expect(guard.connect(host, 80)).rejects.toMatchObject({ name: 'EgressRefused' });
    expect(refused.join()).toMatch(/ (?:malformed|not_public)$/);
  });

  test.each([
    ['93.184.216.34', '93.184.216.34'],
    ['2606:4700::1', '2606:4700:0:0::0001'],
  ])('refuses an address of this machine, although it is public: %s as %s', async (own, spelled) => {
    const { guard, dialled, refused } = guardWith({ ownAddresses: () => [own], resolve: async () => [spelled] });
    await expect(guard.connect('own.example', 443)).rejects.toThrow(EgressRefused);
    await expect(guard.connect(spelled, 443)).rejects.toThrow(EgressRefused);
    expect([dialled, refused]).toEqual([[], ['own.example:443 not_public', `${spelled}:443 not_public`]]);
  });

  test('refuses ports other than the two of the web', async () => {
    const { guard } = guardWith({ resolve: async () => ['93.184.216.34'] });
    for (const other of [0, 22, 25, 81, 6379, 8080, 8443])
      await expect(guard.connect('example.com', other)).rejects.toMatchObject({ reason: 'port' });
  });

  test('reaches what is allowed besides: exactly that host and port', async () => {
    const { guard } = guardWith({ dial: undefined as never });
    const { port } = listening;
    const socket = await guard.connect('127.0.0.1', port);
    const heard = await new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));
    expect(heard).toBe('hello');
    socket.destroy();
    for (const host of ['127.1', 'localhost', '127.0.0.2', '[::ffff:127.0.0.1]'])
      await expect(guard.connect(host, port)).rejects.toThrow(EgressRefused);
    for (const address of canaries.addresses) {
      const at = address.lastIndexOf(':');
      await expect(guard.connect(address.slice(0, at), Number(address.slice(at + 1)))).rejects.toThrow(EgressRefused);
    }
  });

  test('gives up a look-up that takes too long, and one that its caller gives up', async () => {
    const never = () => new Promise<string[]>(() => undefined);
    await expect(guardWith({ resolve: never, timeoutMs: 20 }).guard.connect('slow.example', 80)).rejects.toThrow(
      /in time/,
    );
    const abort = AbortSignal.abort();
    await expect(guardWith({ resolve: never }).guard.connect('slow.example', 80, abort)).rejects.toThrow();
  });

  test('says in its log what was asked for, without what could forge a line', async () => {
    const { guard, refused } = guardWith();
    await expect(guard.connect('evil\n{"level":60}', 80)).rejects.toThrow(EgressRefused);
    expect(refused).toEqual(['evil?{"level":60}:80 malformed']);
  });
});
