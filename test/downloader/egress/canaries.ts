import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { listen } from '../../support/listen.ts';

export interface Canaries {
  /** Where they listen: `host:port`, IPv6 in brackets. */
  addresses: string[];
  /** Connections that any of them has seen, by its address. */
  visits: string[];
  close(): Promise<void>;
}

async function startCanary(host: string, onVisit: (address: string) => void) {
  const server = createServer((socket) => {
    onVisit(address);
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret');
  });
  const { port, close } = await listen(server, host);
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { close, address };
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
  const started = await Promise.allSettled(hosts.map((host) => startCanary(host, onVisit)));
  const listening = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  return {
    addresses: listening.map(({ address }) => address),
    visits,
    close: async () => {
      await Promise.all(listening.map((canary) => canary.close()));
    },
  };
}
