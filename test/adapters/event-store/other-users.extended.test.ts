import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EventStoreDBClient, StreamNotFoundError } from '@eventstore/db-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { peerUser } from '../../../src/embedded/event-store/peer-user.ts';
import { peerUserOfLsof } from '../../../src/embedded/event-store/peer-user-of-lsof.ts';
import { portOf, startEventStore } from '../../support/event-store.ts';
import { collect, errorOf, testEvent } from '../../support/event-store-under-test.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { bytesOfAppend } from './other-user.ts';

const script = fileURLToPath(new URL('./as-another-user.ts', import.meta.url));
const node = ['--disable-warning=ExperimentalWarning', script];
const other = 65_534;
const another = 65_533;

async function asUser(user: number, ...words: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [...node, String(user), ...words]);
  return stdout.trim();
}

async function ownStore() {
  const store = await startEventStore();
  onTestFinished(() => store.stop());
  return store;
}

function clientOf(url: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(url);
  onTestFinished(() => client.dispose());
  return client;
}

const eventsIn = async (client: EventStoreDBClient, stream: string) =>
  (await collect(client.readStream(stream))).length;

/** Sends bytes from this process. @returns what was answered */
async function sendOwn(host: string, port: number, bytes: Buffer): Promise<() => string> {
  let answered = '';
  const socket = connect(port, host).on('data', (chunk) => (answered += chunk.toString('latin1')));
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes);
  return () => answered;
}

// Only root can become somebody else.
describe.runIf(process.getuid?.() === 0)('another user of the machine', () => {
  test('is not answered, where root is', async () => {
    const { url } = await ownStore();
    expect(await asUser(other, 'append', url)).toContain('UNAVAILABLE');
    const client = clientOf(url);
    expect(await errorOf(eventsIn(client, 'forged'))).toBeInstanceOf(StreamNotFoundError);
    expect(await asUser(0, 'append', url)).toBe('stored');
    expect(await eventsIn(client, 'forged')).toBe(1);
  });

  test('stores nothing either by closing before the server looks: the socket is then shown as one of root', async () => {
    const { url, pid } = await ownStore();
    process.kill(pid, 'SIGSTOP');
    await asUser(other, 'append-and-close', String(portOf(url)));
    process.kill(pid, 'SIGCONT');
    // It stood in line behind the other.
    const client = clientOf(url);
    await client.appendToStream('own', testEvent('own'));
    await sendOwn('127.0.0.1', portOf(url), bytesOfAppend('behind'));
    await waitFor(async () => eventsIn(client, 'behind').catch(() => false), { what: 'bytes of our own are stored' });
    expect(await errorOf(eventsIn(client, 'forged'))).toBeInstanceOf(StreamNotFoundError);
  });

  test('has a store of its own, which lets in that user and root, and nobody else', async () => {
    const directory = temporaryDirectory();
    chownSync(directory, other, other);
    const server = spawn(process.execPath, [...node, String(other), 'serve', directory], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    const url = `esdb://127.0.0.1:${port.toString().trim()}?tls=false`;
    expect(await asUser(another, 'append', url)).toContain('UNAVAILABLE');
    expect(await asUser(other, 'append', url)).toBe('stored');
    expect(await asUser(0, 'append', url)).toBe('stored');
  });
});

test('a connection of our own is let in through a socket of IPv6, too', async () => {
  const { url } = await ownStore();
  const client = clientOf(url);
  for (const [host, stream] of [
    ['127.0.0.1', 'v4'],
    ['::ffff:127.0.0.1', 'mapped'],
  ] as const) {
    const answered = await sendOwn(host, portOf(url), bytesOfAppend(stream));
    await waitFor(async () => eventsIn(client, stream).catch(() => false), { what: `${host} is let in` });
    expect(answered().length).toBeGreaterThan(0);
  }
});

describe('the user of the other end', () => {
  const connection = { localAddress: '127.0.0.1', localPort: 2113, remoteAddress: '127.0.0.1', remotePort: 50_000 };
  const ours = { from: '0100007F:0841', to: '0100007F:C350', state: '01', user: 7, inode: 11 };
  const theirs = { from: ours.to, to: ours.from, state: '01', user: 1001, inode: 12 };
  type Line = typeof ours;

  const tableOf = (lines: readonly Line[]) =>
    [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      ...lines.map(({ from, to, state, user, inode }, index) => {
        const numbers = `${String(user).padStart(5)}        0 ${String(inode)} 1 0000000000000000 20 4 30 10 -1`;
        return `${String(index).padStart(4)}: ${from} ${to} ${state} 00000000:00000000 00:00000000 00000000 ${numbers}`;
      }),
    ].join('\n');
  const userIn = (tcp: Line[], tcp6: Line[] = []) =>
    peerUser(connection, (name) => tableOf(name === 'tcp' ? tcp : tcp6));

  test('is that of its line', () => {
    expect(userIn([ours, theirs])).toBe(1001);
    expect(userIn([{ ...theirs, from: '0100007F:C351' }, theirs, ours])).toBe(1001);
    const mapped = (end: string) => `0000000000000000FFFF0000${end}`;
    expect(userIn([ours], [{ ...theirs, from: mapped(theirs.from), to: mapped(theirs.to) }])).toBe(1001);
  });

  test.each<[string, Line[]]>([
    ['it has no line', [ours]],
    ['it is closed, whoever the line names', [ours, { ...theirs, state: '05', user: 0, inode: 0 }]],
    ['it is on its way out', [ours, { ...theirs, state: '06', user: 0, inode: 0 }]],
    ['no process holds it', [ours, { ...theirs, user: 0, inode: 0 }]],
    ['ours is another, not accepted yet, over the same ports', [{ ...ours, inode: 0 }, theirs]],
    ['ours is gone', [theirs]],
    ['its line contradicts itself', [ours, theirs, { ...theirs, user: 0 }]],
    ['only a longer port begins so', [ours, { ...theirs, to: '0100007F:08411' }]],
  ])('is unknown where %s', (_case, lines) => {
    expect(userIn(lines)).toBeUndefined();
  });

  test('is unknown beyond loopback', () => {
    const beyond = { ...connection, remoteAddress: '192.168.1.2' };
    expect(peerUser(beyond, () => tableOf([ours, { ...theirs, from: '0201A8C0:C350' }]))).toBeUndefined();
  });
});

describe('the user of the other end, by lsof', () => {
  const connection = { localAddress: '127.0.0.1', localPort: 2113, remoteAddress: '127.0.0.1', remotePort: 50_000 };
  const ours = { pid: process.pid, user: 501, ends: '127.0.0.1:2113->127.0.0.1:50000' };
  const theirs = { pid: 4_711, user: 501, ends: '127.0.0.1:50000->127.0.0.1:2113' };
  type Socket = typeof ours;

  /** As `lsof -F pun` prints them. */
  const printed = (sockets: readonly Socket[]) =>
    sockets.map(({ pid, user, ends }) => `p${String(pid)}\nu${String(user)}\nf21\nn${ends}\n`).join('');
  const userIn = (sockets: readonly Socket[]) => peerUserOfLsof(connection, () => printed(sockets));

  test('is that of the process that holds it', () => {
    expect(userIn([ours, theirs])).toBe(501);
    expect(userIn([theirs, { ...theirs, ends: '127.0.0.1:50001->127.0.0.1:2113' }, ours])).toBe(501);
    // One process, with both ends and a copy of one of them.
    const ends = [ours.ends, theirs.ends, theirs.ends].map((each) => `f21\nn${each}\n`).join('');
    expect(peerUserOfLsof(connection, () => `p${String(process.pid)}\nu501\n${ends}`)).toBe(501);
    expect(userIn([ours, { ...theirs, pid: 4_712, user: 0 }])).toBe(0);
  });

  test.each<[string, Socket[]]>([
    ['it is not shown, since it is of somebody else', [ours]],
    ['ours is another, which this process has not accepted', [theirs]],
    ['ours is of another process', [{ ...ours, pid: 4_711 }, theirs]],
    ['two users hold it', [ours, theirs, { ...theirs, pid: 4_712, user: 502 }]],
    ['only a longer port begins so', [ours, { ...theirs, ends: `${theirs.ends}1` }]],
    ['lsof says nothing', []],
  ])('is unknown where %s', (_case, sockets) => {
    expect(userIn(sockets)).toBeUndefined();
  });
});
