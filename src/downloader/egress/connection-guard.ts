import { lookup, Resolver } from 'node:dns/promises';
import { addAbortListener } from 'node:events';
import { BlockList, isIP, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { unlessAborted } from '../../async/deadline.ts';
import type { DestinationRefusal } from '../../ports/observers.ts';
import { dial as dialByRoute, type OutgoingRoute, OutgoingRouteFailed } from './outgoing-route.ts';
import { isPublicAddress } from './public-address.ts';

/** The destination may not be reached; nothing was sent to it. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  readonly reason: DestinationRefusal;

  constructor(reason: DestinationRefusal, destination: string) {
    super(`Not reached: ${destination} (${reason}).`);
    this.reason = reason;
  }
}

export interface Destination {
  host: string;
  port: number;
}

export interface EgressGuardOptions {
  /** Destinations that may be reached besides the public internet, in this exact spelling: the sample platform, if any. */
  allowed: readonly Destination[];
  /** Told of each refusal; `host` is the requested one, without control characters. */
  onRefused: (refusal: Destination & { reason: DestinationRefusal }) => void;
  /** Resolves a name to all its addresses; default: by DNS, and by the system for allowed destinations. */
  resolve?: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /**
   * The way to a platform's hosts; default: direct. `isPublic` is false for an allowed destination, which may be one that only
   * this machine reaches.
   *
   * @throws {OutgoingRouteFailed} if it cannot be read
   */
  routeTo?: (platform: string | undefined, isPublic: boolean) => OutgoingRoute;
  /** Told why a route could not be used. */
  onRouteFailed?: (failure: { platform: string | undefined; reason: string }) => void;
  /** Connects to an address by a route; default: TCP. */
  dial?: (address: string, port: number, signal: AbortSignal, route: OutgoingRoute) => Promise<Socket>;
  /** The machine's own addresses, read for each connection; default: those of its interfaces. */
  ownAddresses?: () => readonly string[];
  /** For resolution and connection together. */
  timeoutMs?: number;
}

export type EgressGuard = ReturnType<typeof createEgressGuard>;

const defaultTimeoutMs = 10_000;
/** Before the next address of a name is tried. */
const addressTimeoutMs = 4_000;
/** Before a name server is asked once more. */
const nameServerTimeoutMs = 2_500;
const publicPorts: ReadonlySet<number> = new Set([80, 443]);
const namePattern = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/;

/** Our own configuration may name hosts that only this machine knows. */
async function resolveBySystem(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

/**
 * Asks name servers instead of the system. The system also resolves names of this machine and its network, and a slow name
 * server would hold one of the few threads that also read files.
 */
async function resolvePublic(host: string, signal: AbortSignal): Promise<string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: nameServerTimeoutMs, tries: 2 });
  using _givingUp = addAbortListener(signal, () => resolver.cancel());
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length === 0) throw new Error(`${host} cannot be resolved.`);
  return addresses;
}

const notResolved = (): never => {
  throw new Error('The name was not resolved in time.');
};

const interfaceAddresses = () =>
  Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? []);

/** Public addresses of this machine are refused too: our own servers listen there. */
function arePublicAndNotOwn(addresses: readonly string[], ownAddresses: readonly string[]): boolean {
  // Not compared as texts, since an IPv6 address has many spellings.
  const own = new BlockList();
  const familyOf = (address: string) => (isIP(address) === 4 ? 'ipv4' : 'ipv6');
  for (const address of ownAddresses) own.addAddress(address, familyOf(address));
  return addresses.every((address) => isPublicAddress(address) && !own.check(address, familyOf(address)));
}

/** Connections come from an address of the same family. */
const isReachedBy = ({ proxy, sourceAddress }: OutgoingRoute, address: string): boolean =>
  proxy !== undefined || sourceAddress === undefined || isIP(sourceAddress) === isIP(address);

/** The only way out to addresses that platforms name: everything but the public web is refused. */
export function createEgressGuard(options: EgressGuardOptions) {
  const { dial = dialByRoute, ownAddresses = interfaceAddresses, routeTo = () => ({}) } = options;

  function isAllowed(host: string, port: number): boolean {
    return options.allowed.some((destination) => destination.host === host && destination.port === port);
  }

  /**
   * Connects to a host, if it may be reached. Its name is resolved once, every address of it must be public, and the socket
   * goes to one of exactly these addresses, so that a second answer of the resolver changes nothing. This also holds behind an
   * outgoing proxy, which is given the address.
   *
   * @param host a name, or an address, IPv6 with or without brackets
   * @param platform the one for which the connection is made, which may have a route of its own
   * @throws {EgressRefused} for a host that may not be reached; {OutgoingRouteFailed} if the operator's route cannot be used; any
   *   other error if the host does not answer
   */
  async function connect(host: string, port: number, signal?: AbortSignal, platform?: string): Promise<Socket> {
    const name = host.toLowerCase().replace(/^\[(.*)\]$/s, '$1');
    const shown = name.replace(/[^\x21-\x7e]+/g, '?').slice(0, 253);
    const refuse = (reason: DestinationRefusal): EgressRefused => {
      options.onRefused({ host: shown, port, reason });
      return new EgressRefused(reason, `${shown} port ${port}`);
    };
    const allowed = isAllowed(name, port);
    if (isIP(name) === 0 && !namePattern.test(name)) throw refuse('malformed');
    if (!allowed && !publicPorts.has(port)) throw refuse('port');
    const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
    const ending = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    const lookUp = options.resolve ?? (allowed ? resolveBySystem : resolvePublic);
    const addresses = isIP(name) === 0 ? await unlessAborted(lookUp(name, ending), ending, notResolved) : [name];
    if (!allowed && !arePublicAndNotOwn(addresses, ownAddresses())) throw refuse('not_public');
    try {
      return await dialFirst(addresses, port, ending, routeTo(platform, !allowed));
    } catch (error) {
      if (error instanceof OutgoingRouteFailed) options.onRouteFailed?.({ platform, reason: error.message });
      throw error;
    }
  }

  /** Connects to the first of the addresses that answers. */
  async function dialFirst(
    addresses: readonly string[],
    port: number,
    ending: AbortSignal,
    route: OutgoingRoute,
  ): Promise<Socket> {
    let failure: unknown = new Error('The host has no address that can be reached from here.');
    for (const address of addresses.filter((each) => isReachedBy(route, each))) {
      // A proxy may take its time to reach one of them.
      const patience = route.proxy === undefined ? [AbortSignal.timeout(addressTimeoutMs)] : [];
      try {
        return await dial(address, port, AbortSignal.any([ending, ...patience]), route);
      } catch (error) {
        failure = error;
        if (ending.aborted) break;
      }
    }
    throw failure;
  }

  return { connect };
}
