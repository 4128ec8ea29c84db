import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface Canaries {
  /** Where they listen: `host:port`, IPv6 in brackets. */
  addresses: string[];
  /** Connections that any of them has seen, by its address. */
  visits: string[];
  close(): Promise<void>;
}

async function listen(host: string, onVisit: (address: string) => void): Promise<{ server: Server; address: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onVisit(address);
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { server, address };
}

/** Listeners on every kind of address of this machine that nobody may ever connect to, who say so when somebody does. */
export async function startCanaries(): Promise<Canaries> {
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80'))
    .map(({ address }) => address);
  const visits: string[] = [];
  const onVisit = (address: string) => visits.push(address);
  const hosts = ['127.0.0.1', '127.0.0.1', '127.0.0.2', '::1', ...outward];
  const started = await Promise.allSettled(hosts.map((host) => listen(host, onVisit)));
  const listening = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  return {
    addresses: listening.map(({ address }) => address),
    visits,
    close: async () => {
      await Promise.all(listening.map(({ server }) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
