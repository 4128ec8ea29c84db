import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { countMissingNodes } from '../../../src/adapters/event-store/missing-nodes.ts';
import { freePort } from '../../../src/embedded/free-port.ts';

/** A host that accepts connections, as a node does before anything is said. */
async function listening(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

const away = async () => `127.0.0.1:${String(await freePort())}`;

it('counts the nodes of an address that accept no connection', async () => {
  const [one, two] = [await listening(), await listening()];
  const missing = (...hosts: string[]) => countMissingNodes(`esdb://user:password@${hosts.join(',')}?tls=true`, 5_000);
  expect(await missing(one, two)).toBe(0);
  expect(await missing(one, await away(), two)).toBe(1);
  expect(await missing(await away(), await away())).toBe(2);
});

it('finds none missing of one host, which is no cluster', async () => {
  expect(await countMissingNodes(`esdb://${await away()}?tls=false`, 5_000)).toBe(0);
});
