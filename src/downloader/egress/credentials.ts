import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { EgressObserver, ProxyRefusal } from '../../ports/observers.ts';
import { randomBits } from '../../system/clock-and-chance.ts';

/** The traffic of an attempt, and how often it was refused. */
const noUsage = () => ({
  receivedBytes: 0,
  sentBytes: 0,
  connections: 0,
  refusals: 0,
  /** How often the operator's route could not be used. */
  routeFailures: 0,
  /** It has used up its bytes. */
  exhausted: false,
});

export type EgressUsage = ReturnType<typeof noUsage>;

/** The credential with which one attempt may use the proxy. */
export interface EgressCredential {
  /** Contains user name and password, so neither for logs nor for command lines. */
  proxyUrl: string;
  /** Revokes the credential and ends the attempt's connections. */
  close(): EgressUsage;
}

/** Issues credentials. The downloader knows no other part of the network. */
export interface Egress {
  /**
   * @param attempt maxBytes: in both directions together, over all connections; platform: the one whose route connections take
   */
  admit(attempt: { maxBytes: number; platform?: string }): EgressCredential;
}

const newPermit = (maxBytes: number, platform: string | undefined) => ({
  usage: noUsage(),
  maxBytes,
  platform,
  sockets: new Set<Duplex>(),
  /** Connections that are being made. */
  opening: 0,
  closed: false,
});

export type Permit = ReturnType<typeof newPermit>;

const countEveryMs = 500;
const maxConnectionsPerPermit = 32;
/** An attempt that goes on after so many refusals is scanning. */
const maxRefusalsPerPermit = 100;

const digest = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/** The permits behind the credentials of running attempts, and the traffic of each. */
export class Permits {
  readonly #open = new Map<string, Permit>();
  readonly #observer: EgressObserver | undefined;

  constructor(observer: EgressObserver | undefined) {
    this.#observer = observer;
  }

  admit(
    { maxBytes, platform }: Parameters<Egress['admit']>[0],
    addressOf: (credentials: string) => string,
  ): EgressCredential {
    const secret = randomBits(32).toString('hex');
    const name = digest(secret);
    const permit = newPermit(maxBytes, platform);
    this.#open.set(name, permit);
    return {
      proxyUrl: addressOf(`attempt:${secret}`),
      close: () => {
        this.#open.delete(name);
        permit.closed = true;
        for (const socket of permit.sockets) socket.destroy();
        return { ...permit.usage };
      },
    };
  }

  /** The permit of a request's credential. It is found by the hash of the secret, so that timing reveals nothing about it. */
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

  /** True if the permit has room for one more connection; if not, the refusal is counted. */
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

  /** Counts a connection's traffic against its permit, and ends all connections of the permit once it is used up. */
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
    // Sending to a host that never answers raises no event.
    const counting = setInterval(count, countEveryMs);
    upstream.once('close', () => {
      clearInterval(counting);
      count();
      sockets.delete(upstream);
      this.#observer?.egressClosed(received + sent);
    });
  }
}
