import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

/** A TCP proxy before Postgres that counts how often a client waits for it. */
export interface PostgresProxy extends AsyncDisposable {
  /** The given address, through the proxy. */
  url: string;
  /**
   * Round trips so far: Sync and Query are the messages after which a client waits for the server. Those of a statistic, which no
   * request waits for, are left out.
   */
  roundTrips: () => number;
  /** Those of them that do more than begin a session, or begin or end a transaction. */
  statements: () => number;
  /** Cuts every connection, and new ones as they come, until it is back. */
  setAway: (isAway: boolean) => void;
  /** Sends connections from now on to another server; those that are open are cut. */
  leadTo: (target: string) => void;
  /** Keeps what the server says from its clients, until they may hear it. */
  setHeld: (isHeld: boolean) => void;
}

export async function startPostgresProxy(target: string): Promise<PostgresProxy> {
  let { hostname, port } = new URL(target);
  let roundTrips = 0;
  let statements = 0;
  let isAway = false;
  let isHeld = false;
  const open = new Map<Socket, Socket>();
  // Without a delay, as between the two ends themselves: waiting for more to send would cost 40 ms at each larger answer.
  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => undefined);
    if (isAway) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: Number(port), host: hostname, noDelay: true });
    open.set(client, upstream);
    const count = countMessages((text) => {
      roundTrips += 1;
      const isOfSession = /^(?:begin|commit|rollback)\b[^;]*$/.test(text) || text.includes('reeltally.session');
      if (!isOfSession) statements += 1;
    });
    client.once('close', () => {
      open.delete(client);
      upstream.destroy();
    });
    upstream.on('error', () => undefined);
    client.on('data', count);
    client.pipe(upstream);
    if (!isHeld) upstream.pipe(client);
  });
  const listening = await listen(server);
  const url = new URL(target);
  url.port = String(listening.port);
  return {
    url: url.href,
    roundTrips: () => roundTrips,
    statements: () => statements,
    setAway: (away) => {
      isAway = away;
      if (away) for (const client of open.keys()) client.destroy();
    },
    leadTo: (other) => {
      ({ hostname, port } = new URL(other));
      for (const client of open.keys()) client.destroy();
    },
    setHeld: (held) => {
      // A second pipe would say everything twice.
      if (held === isHeld) return;
      isHeld = held;
      for (const [client, upstream] of open) {
        if (held) upstream.unpipe(client);
        else upstream.pipe(client);
      }
    },
    [Symbol.asyncDispose]: listening.close,
  };
}

/**
 * Reads the frontend's messages: a byte for the type, four for the length, after a first message that has no type.
 * @param onWait is told the text of a simple query, and nothing of a prepared one
 */
function countMessages(onWait: (text: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  let isOfStatistic = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const typeBytes = isStarted ? 1 : 0;
      if (rest.length < typeBytes + 4) return;
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      if (isStarted && rest[0] === parse) isOfStatistic = rest.subarray(0, end).includes('insert into key_requests');
      if (isStarted && rest[0] === sync && !isOfStatistic) onWait('');
      if (isStarted && rest[0] === query) onWait(rest.toString('utf8', typeBytes + 4, end));
      isStarted = true;
      rest = rest.subarray(end);
    }
  };
}

const sync = 'S'.charCodeAt(0);
const query = 'Q'.charCodeAt(0);
const parse = 'P'.charCodeAt(0);
