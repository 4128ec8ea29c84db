import { createRequire } from 'node:module';

/** As `@eventstore/db-client` reads it; the module is one of the pinned version's own. */
type ParseConnectionString = (address: string) => object;

const parserModule = '@eventstore/db-client/dist/Client/parseConnectionString.js';

/**
 * Checks an address of the event store with the client's own parser: it knows addresses of several hosts, which `URL` does
 * not.
 *
 * @returns the address for the client; or why it is refused, without any part of it, because it may hold a password
 */
export function readEventStoreAddress(given: string): { address: string } | { fault: string } {
  const address = withoutIgnoredOptions(given);
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

/**
 * The address without the options that the client ignores: it would write a warning about each to standard error, with the
 * whole address, its password included, every time that it reads it.
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

/** An address of nobody shows what the client makes of an option; its warning tells the operator which one is ignored. */
function isIgnored(option: string): boolean {
  try {
    const read = parser()(`esdb://ignored-option?${option}`);
    return Object.keys(read).every((name) => ['dnsDiscover', 'hosts', 'tlsVerifyCert'].includes(name));
  } catch {
    return false;
  }
}

/** Loaded where there is an address to read: it is a good part of the client. */
function parser(): ParseConnectionString {
  const { parseConnectionString } = createRequire(import.meta.url)(parserModule) as {
    parseConnectionString: ParseConnectionString;
  };
  return parseConnectionString;
}
