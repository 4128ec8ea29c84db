import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createEgressGuard, type EgressGuard } from '../../../src/downloader/egress/connection-guard.ts';
import { listen } from '../../support/listen.ts';
import type { Canaries } from './canaries.ts';

/** What a name of the tests stands for, by its first word: its own first answer, and later ones. */
const publicAddress = '93.184.216.34';
const insideAddresses = [
  '127.0.0.1',
  '127.0.0.2',
  '::1',
  '10.0.0.1',
  '169.254.169.254',
  '::ffff:127.0.0.1',
  'fd00:ec2::254',
];

export interface HostilePlatform {
  /** `127.0.0.1:port`: allowed by configuration, like the sample platform. */
  host: string;
  guard: EgressGuard;
  /** Gives an address of the platform that answers with this. */
  serve(answer: { status?: number; type?: string; location?: string; body?: string }): string;
  /** Gives the id of an item whose description is this. */
  describe(description: object): string;
  /** Connections that the guard made to the platform, that the platform has seen, and that the guard made anywhere else. */
  counts: { dialled: number; accepted: number; elsewhere: string[]; refused: number };
  close(): Promise<void>;
}

/**
 * A platform that answers with whatever a test gives it, and a guard for which it is the whole public internet. Whatever else
 * the guard connects to goes to a canary, and is counted.
 */
export async function startHostilePlatform(canaries: Canaries): Promise<HostilePlatform> {
  const answers = new Map<string, (response: ServerResponse) => void>();
  const counts = { dialled: 0, accepted: 0, elsewhere: [] as string[], refused: 0 };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const answer = answers.get((request.url ?? '').split('?')[0] ?? '');
    if (answer) answer(response);
    else response.writeHead(404).end();
  });
  server.on('connection', () => (counts.accepted += 1));
  const { port, close } = await listen(server);
  const asked = new Map<string, number>();

  async function resolve(name: string): Promise<string[]> {
    const times = asked.get(name) ?? 0;
    asked.set(name, times + 1);
    const inside = insideAddresses[name.length % insideAddresses.length] ?? '127.0.0.1';
    if (name.startsWith('public')) return [publicAddress];
    if (name.startsWith('inside')) return [inside];
    if (name.startsWith('mixed')) return [publicAddress, inside];
    if (name.startsWith('rebinding')) return [times === 0 ? publicAddress : inside];
    // Odd spellings of addresses, as the system reads them.
    return (await lookup(name, { all: true })).map(({ address }) => address);
  }

  function dial(address: string, to: number): Promise<Socket> {
    const isPlatform = address === publicAddress || (address === '127.0.0.1' && to === port);
    if (isPlatform) counts.dialled += 1;
    else counts.elsewhere.push(`${address}:${to}`);
    const canary = Number((canaries.addresses[0] ?? '').split(':').at(-1));
    return new Promise((connected, failed) => {
      const socket = connect({ host: '127.0.0.1', port: isPlatform ? port : canary });
      socket.once('connect', () => connected(socket)).once('error', failed);
    });
  }

  let served = 0;
  return {
    host: `127.0.0.1:${port}`,
    guard: createEgressGuard({
      allowed: [{ host: '127.0.0.1', port }],
      onRefused: () => (counts.refused += 1),
      resolve,
      dial,
    }),
    serve({ status = 200, type = 'text/html', location, body = '' }) {
      const path = `/x${(served += 1)}`;
      answers.set(path, (response) => {
        response.writeHead(status, { 'Content-Type': type, ...(location !== undefined && { Location: location }) });
        response.end(body);
      });
      return `http://127.0.0.1:${port}${path}`;
    },
    describe(description) {
      const id = `item-${(served += 1)}`;
      answers.set(`/api/${id}`, (response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(description));
      });
      return id;
    },
    counts,
    close,
  };
}
