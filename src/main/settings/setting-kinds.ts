import { isIP } from 'node:net';
import { z } from 'zod';
import { minSecretLength } from '../../adapters/derive-keys.ts';
import { readEventStoreAddress } from '../../adapters/event-store/address.ts';
import { readNatsAddress } from '../../adapters/nats/address.ts';
import { email as emailAddress, plainText } from '../../domain/plain-text.ts';
import { treeOrigin as storedOrigin } from '../../domain/tree-head-events.ts';
import type { OutgoingProxy } from '../../downloader/egress/outgoing-route.ts';
import { isNetwork } from '../../requests/client-address.ts';

/** The kinds of settings. The fault of each continues a sentence that begins with the setting's name. */

/** A value that breaks several rules still gets one sentence. */
const text = (accepts: (value: string) => boolean, fault: string) =>
  z.string().refine(accepts, { error: fault, abort: true });

export const anyText = z.string();

export const address = (...protocols: string[]) =>
  text(
    (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
    `must be an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );

export const eventStoreAddress = z.string().transform((given, context) => {
  const read = readEventStoreAddress(given);
  if ('address' in read) return read.address;
  context.addIssue(read.fault);
  return z.NEVER;
});

export const natsAddress = text(
  (value) => readNatsAddress(value) !== undefined,
  'must be an address such as nats://host:4222, or tls://a:4222,b:4222,c:4222?tlsCAFile=/etc/ca.crt',
);

const anyWebAddress = address('http:', 'https:');

/** `fetch` refuses an address with a user, in an error that quotes the password, and links would tell it to everybody. */
const namesNoUser = (value: string): boolean => {
  const { username, password } = new URL(value);
  return username === '' && password === '';
};
const noUser = 'must have no user and password';

const withoutSlash = (value: string): string => value.replace(/\/+$/, '');

export const webAddress = anyWebAddress.refine(namesNoUser, noUser).transform(withoutSlash);

export const collectorAddress = anyWebAddress.transform(withoutSlash);

/** @param host a name or an address, without a port; in a URL an IPv6 address has brackets @returns whether only this machine reaches it */
export const isLoopback = (host: string): boolean =>
  ['localhost', '::1', '[::1]'].includes(host) || /^127(?:\.\d{1,3}){3}$/.test(host);

/** What a provider says over plain http can be changed on the way; nothing is between two programs of this machine. */
export const providerAddress = text((value) => {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}, 'must be an address that begins with https://').refine(namesNoUser, noUser);

/** Whatever else an address may hold would be ignored without a word. */
export const mailServer = address('smtp:', 'smtps:')
  .refine((value) => {
    const { hostname, pathname, search, hash } = new URL(value);
    return hostname !== '' && ['', '/'].includes(pathname) && search === '' && hash === '';
  }, 'must have only user, password, host and port')
  .refine(canBeDecoded, 'must have user and password percent-encoded; a percent sign itself is %25');

/** Its user and password are used only for the proxy itself. */
export const outgoingProxy = z.string().transform((given, context) => {
  const proxy = outgoingProxyOf(given);
  if (proxy !== undefined) return proxy;
  context.addIssue(
    'must be an address such as http://user:password@proxy:3128, with user and password percent-encoded',
  );
  return z.NEVER;
});

/** Reads the address of an HTTP proxy. @returns undefined for anything else, such as one with a path or of another protocol */
export function outgoingProxyOf(text: string): OutgoingProxy | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' || url.hostname === '' || !['', '/'].includes(url.pathname)) return undefined;
  if (url.search !== '' || url.hash !== '') return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port || 80);
  if (url.username === '' && url.password === '') return { host, port };
  try {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    return { host, port, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
  } catch {
    return undefined;
  }
}

export const ipAddress = text((value) => isIP(value) !== 0, 'must be an IP address');

function canBeDecoded(value: string): boolean {
  const { username, password } = new URL(value);
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
}

export const whole = (least: number, most: number) =>
  text(
    (value) => /^-?\d{1,15}$/.test(value) && Number(value) >= least && Number(value) <= most,
    `must be a whole number from ${String(least)} to ${String(most)}`,
  ).transform(Number);

export const share = text(
  (value) => /^\d*\.?\d+$/.test(value) && Number(value) <= 1,
  'must be a number from 0 to 1',
).transform(Number);

export const flag = z.enum(['0', '1'], 'must be 0 or 1').transform((value) => value === '1');

export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

export const email = text((value) => emailAddress.safeParse(value).success, 'must be an e-mail address');

export const shortText = (mostCharacters: number) =>
  text(
    (value) => plainText(mostCharacters).safeParse(value).success,
    `must have at most ${String(mostCharacters)} characters, without control characters`,
  );

export const matching = (form: RegExp, fault: string) => text((value) => form.test(value), fault);

export const secret = text(
  (value) => value.length >= minSecretLength,
  `must have at least ${String(minSecretLength)} characters`,
);

export const signingKey = text(
  (value) => /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(value),
  'must be 32 random bytes in base64, as "openssl rand -base64 32" prints them',
);

export const treeOrigin = text(
  (value) => storedOrigin.safeParse(value).success,
  'must have at most 200 characters, without spaces and plus signs',
);

const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

export const secrets = list.pipe(z.array(secret));

export const networks = list.refine(
  (items) => items.every(isNetwork),
  'must be addresses or networks such as 10.0.0.0/8, separated by commas',
);
