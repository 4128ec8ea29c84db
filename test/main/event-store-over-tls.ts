import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { portOf } from '../support/event-store.ts';
import { listen } from '../support/listen.ts';

/** The certificate is its own authority, and is good for 127.0.0.1. */
const pemFile = fileURLToPath(new URL('event-store-over-tls.pem', import.meta.url));
const pem = readFileSync(pemFile);

export interface EventStoreOverTls extends AsyncDisposable {
  /** With a user, whom the client therefore names. */
  url: string;
}

/** A way to an event store over TLS. The store knows of no users, so that everybody may do everything. */
export async function eventStoreOverTls(url: string): Promise<EventStoreOverTls> {
  const server = createServer({ cert: pem, key: pem, ALPNProtocols: ['h2'] }, (client) => {
    const upstream = connect(portOf(url), '127.0.0.1');
    pipeline(client, upstream, client, () => undefined);
  });
  const { port, close } = await listen(server);
  const query = `tls=true&tlsCAFile=${encodeURIComponent(pemFile)}`;
  return { url: `esdb://somebody:password@127.0.0.1:${port}?${query}`, [Symbol.asyncDispose]: close };
}
