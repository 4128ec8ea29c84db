import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** The well-known private networks, by the names that settings have for them. */
const privateNetworks = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * An address in the forms that proxies write: alone, with a port, in brackets, in quotation marks, with a zone.
 *
 * @returns it in its one form, an IPv4 address that is written as IPv6 as IPv4; undefined for any other text
 */
export function readAddress(text: string): string | undefined {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare) ?? [];
  if (bracketed !== undefined) return isIPv6(bracketed) ? canonical(bracketed) : undefined;
  if (isIPv6(bare)) return canonical(bare);
  const address = bare.replace(/:\d{1,5}$/, '');
  return isIPv4(address) ? address : undefined;
}

function canonical(ipv6: string): string {
  const [withoutZone = ''] = ipv6.split('%');
  const { address } = new SocketAddress({ address: withoutZone, family: 'ipv6' });
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? [];
  return mapped ?? address;
}

/** Tells whether a text is an address, a network such as 10.0.0.0/8, or a name for the well-known private networks. */
export function isNetwork(text: string): boolean {
  if (Object.hasOwn(privateNetworks, text)) return true;
  const [address = '', prefix, ...more] = text.split('/');
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** @param proxies networks, see `isNetwork` @returns whether a text is the address of one of them, in whichever form */
export function proxiesOf(proxies: readonly string[]): (text: string) => boolean {
  const list = new BlockList();
  const networks = proxies.flatMap((each) =>
    Object.hasOwn(privateNetworks, each) ? privateNetworks[each as keyof typeof privateNetworks] : [each],
  );
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const [family, bits] = isIPv4(address) ? (['ipv4', 32] as const) : (['ipv6', 128] as const);
    list.addSubnet(address, Number(prefix ?? bits), family);
  }
  return (text) => {
    const address = readAddress(text);
    return address !== undefined && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  };
}

/**
 * The client's address, as the nearest proxies that are trusted forwarded it. Where they forwarded none that can be read, it is
 * their own: an unreadable text is never a client of its own.
 */
export function clientAddress({ ip, ips }: Pick<FastifyRequest, 'ip' | 'ips'>): string {
  // Fastify's list begins with the connection, and ends with the first that is no trusted proxy.
  // Node has no address of a connection that is closed.
  const texts: readonly (string | undefined)[] = ips ?? [ip];
  for (const text of texts.toReversed()) {
    const address = readAddress(text ?? '');
    if (address !== undefined) return address;
  }
  return '';
}

/** The network that limits count as one client: an IPv6 client owns at least a /64. */
export function networkOf(address: string): string {
  const read = readAddress(address);
  if (read === undefined || isIPv4(read)) return read ?? '';
  const [head = '', tail] = read.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const between = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0');
  return `${[...left, ...between, ...right].slice(0, 4).join(':')}::/64`;
}
