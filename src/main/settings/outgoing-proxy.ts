import type { OutgoingProxy } from '../../downloader/egress/outgoing-route.ts';

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
