import type { IncomingMessage } from 'node:http';
import { RequestRefused } from './request-refused.ts';

/** What a request is addressed to: its request line and `Host` (RFC 9112, sections 3.2 and 3.3). */
type Addressed = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders' | 'httpVersion'>;

const absolute = /^(https?):\/\/([^/?#]*)(.*)$/is;
const hostForm = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d*)?$/i;

/** Makes the whole address that a proxy sends a path, where it is the one of `Host`: what follows sees paths only. */
export function pathOfTarget({ url = '/', headers: { host = '' } }: Addressed): string {
  const [, scheme = '', authority = '', rest = ''] = absolute.exec(url) ?? [];
  if (scheme === '' || originOf(scheme, authority) !== originOf(scheme, host)) return url;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const originOf = (scheme: string, authority: string): string | undefined =>
  hostForm.test(authority) && URL.canParse(`${scheme}://${authority}`)
    ? new URL(`${scheme}://${authority}`).origin
    : undefined;

/** @throws {RequestRefused} for no host, several ones, one that is none, or another one in the request line */
export function requireTarget({ url = '/', headers: { host }, rawHeaders, httpVersion }: Addressed): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) throw new RequestRefused('Host: is given more than once');
  if (host === undefined && httpVersion === '1.1') throw new RequestRefused('Host: is required');
  if (host !== undefined && originOf('http', host) === undefined) throw new RequestRefused('Host: is not a host');
  // `*` is that of OPTIONS.
  if (!url.startsWith('/') && url !== '*') throw new RequestRefused('The request line names another host than Host');
}
