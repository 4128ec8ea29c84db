import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Networks that the registries of special-purpose addresses (RFC 6890 and its successors) keep out of the public internet. */
const specialIpv4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  // Public by number, yet answered by the host of a virtual machine in one large cloud, with its secrets.
  '168.63.129.16/32',
];

/** The public part of IPv6 is 2000::/3, except for translated addresses and those of documentation. */
const globalIpv6 = ['2000::/3'];
const specialIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

const notPublicIpv4 = listOf(specialIpv4, 'ipv4');
const publicIpv6 = listOf(globalIpv6, 'ipv6');
const notPublicIpv6 = listOf(specialIpv6, 'ipv6');

/**
 * True if an address belongs to the public internet. IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64,
 * 6to4, Teredo) never do: the IPv4 address can be used directly.
 *
 * @param address as the resolver gives it; any other text is not public
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublicIpv4.check(address, 'ipv4');
  // A zone names an interface of this machine.
  if (!isIPv6(address) || address.includes('%')) return false;
  return publicIpv6.check(address, 'ipv6') && !notPublicIpv6.check(address, 'ipv6');
}
