import { createRequire } from 'node:module';

/** The parser of `@eventstore/db-client`, an internal module of the pinned version. */
type ParseConnectionString = (address: string) => ParsedAddress;

interface ParsedAddress {
  hosts: readonly { address: string; port: number }[];
  tls?: boolean;
  defaultCredentials?: unknown;
  userCertFile?: string;
}

const parserModule = '@eventstore/db-client/dist/Client/parseConnectionString.js';

/**
 * Checks an address of the event store with the client's own parser, which accepts several hosts, unlike `URL`.
 *
 * @returns the address for the client; or why it is refused, without quoting it, because it may contain a password
 */
export function readEventStoreAddress(given: string): { address: string } | { fault: string } {
  // So servers from 25.0 on print it. The client knows the older name of the same form.
  const address = withoutIgnoredOptions(given.replace(/^kurrentdb(?=:|\+discover:)/, 'esdb'));
  try {
    parser()(address);
    return { address };
  } catch (error) {
    const { location, expected } = error as { location?: readonly [number, number]; expected?: string };
    const where = location ? `; at character ${String(location[0] + 1)} it needs ${expected ?? 'something else'}` : '';
    return {
      fault: `must be an address such as esdb://host:2113?tls=true, esdb://a:2113,b:2113,c:2113 or esdb+discover://name${where}`,
    };
  }
}

/** @param address one that was read before @returns whether the event store knows its client as a user, and its hosts */
export function accessBy(address: string): { hasUser: boolean; hosts: { host: string; port: number }[] } {
  const { hosts, tls, defaultCredentials, userCertFile } = parser()(address);
  // Without TLS the client sends no credentials.
  const hasUser = tls !== false && (defaultCredentials !== undefined || userCertFile !== undefined);
  return { hasUser, hosts: hosts.map(({ address: host, port }) => ({ host, port })) };
}

/**
 * Removes the options that the client ignores. About each of them it would print a warning to standard error at every parse,
 * with the whole address and its password.
 */
function withoutIgnoredOptions(address: string): string {
  const [hosts = '', ...query] = address.split('?');
  if (query.length === 0) return address;
  const options = query
    .join('?')
    .split('&')
    .filter((option) => !isIgnored(option));
  return options.length === 0 ? hosts : `${hosts}?${options.join('&')}`;
}

/** Parses an option in an address without credentials; the client's warning then names it to the operator. */
function isIgnored(option: string): boolean {
  try {
    const read = parser()(`esdb://ignored-option?${option}`);
    return Object.keys(read).every((name) => ['dnsDiscover', 'hosts', 'tlsVerifyCert'].includes(name));
  } catch {
    return false;
  }
}

/** Loaded only when needed, because it brings in much of the client. */
function parser(): ParseConnectionString {
  const { parseConnectionString } = createRequire(import.meta.url)(parserModule) as {
    parseConnectionString: ParseConnectionString;
  };
  return parseConnectionString;
}
