import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { EgressObserver, ProxyRefusal } from '../../ports/observers.ts';
import { randomBits } from '../../system/clock-and-chance.ts';

/** What an attempt has sent and received, and how often it was told no. */
export interface EgressUsage {
  receivedBytes: number;
  sentBytes: number;
  connections: number;
  refusals: number;
  /** It wanted more bytes than it was given. */
  exhausted: boolean;
}

/** One attempt's leave to use the proxy. */
export interface EgressCredential {
  /** With the credentials of this attempt, so neither for logs nor for a list of processes. */
  proxyUrl: string;
  /** Ends the attempt's connections; its credentials are worth nothing from now on. */
  close(): EgressUsage;
}

/** What hands out leaves: all that the engine knows of the network. */
export interface Egress {
  /** @param limits bytes in both directions together, over all connections */
  admit(limits: { maxBytes: number }): EgressCredential;
}

export interface Permit {
  usage: EgressUsage;
  maxBytes: number;
  sockets: Set<Duplex>;
  /** Connections that are being made. */
  opening: number;
  closed: boolean;
}

const countEveryMs = 500;
const maxConnectionsPerPermit = 32;
/** An attempt that goes on after so many refusals is looking for something. */
const maxRefusalsPerPermit = 100;

const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/** The permits that are open, and the counting of what goes through them. */
export class Permits {
  readonly #open = new Map<string, Permit>();
  readonly #observer: EgressObserver | undefined;

  constructor(observer: EgressObserver | undefined) {
    this.#observer = observer;
  }

  admit(maxBytes: number, addressOf: (credentials: string) => string): EgressCredential {
    const secret = randomBits(32).toString('hex');
    const name = digest(secret);
    const usage = { receivedBytes: 0, sentBytes: 0, connections: 0, refusals: 0, exhausted: false };
    const permit: Permit = { usage, maxBytes, sockets: new Set(), opening: 0, closed: false };
    this.#open.set(name, permit);
    return {
      proxyUrl: addressOf(`attempt:${secret}`),
      close: () => {
        this.#open.delete(name);
        permit.closed = true;
        for (const socket of permit.sockets) socket.destroy();
        return { ...usage };
      },
    };
  }

  /** The permit that a request shows. Looked up by a hash of its secret, so that the time it takes tells nothing. */
  of({ headers }: IncomingMessage): Permit | undefined {
    const [, encoded = ''] = /^basic ([a-z0-9+/=]{1,200})$/i.exec(headers['proxy-authorization'] ?? '') ?? [];
    const [user, secret = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':');
    const permit = user === 'attempt' ? this.#open.get(digest(secret)) : undefined;
    if (permit === undefined) this.#observer?.egressRefused('credentials');
    return permit;
  }

  refuse(permit: Permit, reason?: ProxyRefusal): void {
    permit.usage.refusals += 1;
    if (reason !== undefined) this.#observer?.egressRefused(reason);
  }

  /** Whether the permit has room for one more connection. */
  hasRoom(permit: Permit): boolean {
    if (permit.usage.exhausted) this.refuse(permit, 'bytes');
    else if (
      permit.sockets.size + permit.opening >= maxConnectionsPerPermit ||
      permit.usage.refusals >= maxRefusalsPerPermit
    )
      this.refuse(permit, 'connections');
    else return true;
    return false;
  }

  /** Counts everything that a connection carries against its permit, and ends all of them when it is used up. */
  meter(permit: Permit, upstream: Socket): void {
    const { usage, sockets } = permit;
    usage.connections += 1;
    sockets.add(upstream);
    this.#observer?.egressOpened();
    let [received, sent] = [0, 0];
    const count = () => {
      usage.receivedBytes += upstream.bytesRead - received;
      usage.sentBytes += upstream.bytesWritten - sent;
      [received, sent] = [upstream.bytesRead, upstream.bytesWritten];
      if (usage.exhausted || usage.receivedBytes + usage.sentBytes <= permit.maxBytes) return;
      usage.exhausted = true;
      this.#observer?.egressRefused('bytes');
      for (const socket of sockets) socket.destroy();
    };
    upstream.on('data', count);
    // A host that only listens makes no event of what is sent to it.
    const counting = setInterval(count, countEveryMs);
    upstream.once('close', () => {
      clearInterval(counting);
      count();
      sockets.delete(upstream);
      this.#observer?.egressClosed(received + sent);
    });
  }
}
