import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { listen } from '../../support/listen.ts';

/** What a site answers to a path; undefined is a 404. */
export type Site = (url: URL) => { type: string; body: string | Buffer } | undefined;

export interface FakeSites {
  proxyUrl: string;
  /** Every address that was asked for, in order. */
  asked: string[];
  close(): Promise<void>;
}

/**
 * A proxy that takes every connection for itself and answers in the name of the sites, with a certificate that belongs to
 * nobody: whoever speaks through it must not check it.
 */
export async function startFakeSites(sites: Readonly<Record<string, Site>>): Promise<FakeSites> {
  const pem = readFileSync(new URL('fake-sites.pem', import.meta.url));
  const secureContext = createSecureContext({ cert: pem, key: pem });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '', `https://${request.headers.host ?? ''}`);
    const answer = url === null ? undefined : sites[url.hostname]?.(url);
    if (url) asked.push(url.href);
    response.writeHead(answer ? 200 : 404, { 'Content-Type': answer?.type ?? 'text/plain' });
    response.end(request.method === 'HEAD' ? undefined : (answer?.body ?? 'not here'));
  });
  server.on('connect', (_request, socket: Socket) => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    const secured = new TLSSocket(socket, { isServer: true, secureContext });
    secured.on('error', () => undefined);
    server.emit('connection', secured);
  });
  const { port, close } = await listen(server);
  return { proxyUrl: `http://127.0.0.1:${port}`, asked, close };
}

/** The engine, as a program that does not check certificates. @returns its path */
export function trustingEngine(directory: string, ytDlpPath: string): string {
  const path = join(directory, 'yt-dlp');
  writeFileSync(path, `#!/bin/sh\nexec '${ytDlpPath}' --no-check-certificates "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
