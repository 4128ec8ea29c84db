import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

import { contentDisposition } from '../domain/content-disposition.ts';
import { endOfAnswer } from './end-of-answer.ts';
import type { IdleReaders } from './idle-readers.ts';
import type { LinkPlaces } from './link-places.ts';
import { sendRange } from './send-range.ts';
import type { ByteRange, OpenFile } from './send-range.ts';

/** What the route needs of the place where finished files lie. */
interface LinkedFiles {
  verifyLink(
    url: string,
    nowMs: number,
  ): Promise<
    | { ok: true; path: string; link: string; downloadName: string; mime: string }
    | { ok: false; status: 403 | 404 | 410 }
  >;
  openFile(path: string): Promise<OpenFile | undefined>;
}

const retryAfterSeconds = 10;

export const fileRefusals = {
  403: { code: 'link_invalid', message: 'This link was not issued here.' },
  404: { code: 'not_found', message: 'The file is no longer available.' },
  405: { code: 'method_not_allowed', message: 'Files can only be read.' },
  410: { code: 'link_expired', message: 'This link has expired; ask for the status of the download again.' },
  416: { code: 'range_not_satisfiable', message: 'The file does not have the range that was asked for.' },
  429: { code: 'too_many_connections', message: 'Too many connections read this link, or files at your address.' },
} as const;

const otherMethods: HTTPMethods[] = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function refuse(reply: FastifyReply, status: keyof typeof fileRefusals): FastifyReply {
  reply.removeHeader('Content-Disposition').type('application/json; charset=utf-8');
  return reply.code(status).send({ success: false, error: fileRefusals[status] });
}

/**
 * The part of a file that a Range header asks for, RFC 9110 sections 14.1.2 and 14.2: one range of bytes, from a first byte on
 * or counted from the end. Several ranges, other units and nonsense are ignored, as the RFC allows.
 */
export function requestedRange(header: string | undefined, sizeBytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return 'whole';
  if (from === '') {
    const suffixBytes = Math.min(Number(to), sizeBytes);
    return suffixBytes > 0 ? { first: sizeBytes - suffixBytes, last: sizeBytes - 1 } : 'unsatisfiable';
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return 'whole';
  if (first >= sizeBytes) return 'unsatisfiable';
  return { first, last: to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1) };
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, ended }: { file: OpenFile; ended: AbortSignal },
): Promise<FastifyReply> {
  const sizeBytes = (await file.stat()).size;
  // There are no validators, so whatever If-Range names cannot be confirmed: the whole file is the answer then.
  const range = requestedRange(
    request.headers['if-range'] === undefined ? request.headers.range : undefined,
    sizeBytes,
  );
  if (range === 'unsatisfiable') return refuse(reply.header('Content-Range', `bytes */${sizeBytes}`), 416);
  const { first, last } = range === 'whole' ? { first: 0, last: sizeBytes - 1 } : range;
  if (range !== 'whole') reply.code(206).header('Content-Range', `bytes ${first}-${last}/${sizeBytes}`);
  reply.header('Content-Length', last - first + 1);
  if (request.method === 'HEAD' || sizeBytes === 0) return reply.send();
  reply.hijack().raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  await sendRange(file, { first, last }, { response: reply.raw, ended }).catch((error: unknown) => {
    request.log.error({ err: error }, 'a file could not be read to its end');
    reply.raw.destroy();
  });
  return reply;
}

interface FileRouteOptions {
  files: LinkedFiles;
  nowMs: () => number;
  places: LinkPlaces;
  readers: IdleReaders;
}

/**
 * Serves finished files to whoever holds a link. A link is its own permission: this stands outside the API, asks for no key and
 * sends none of the API's headers. HEAD takes the links that were signed for GET.
 */
export function registerFileRoute(server: FastifyInstance, options: FileRouteOptions): void {
  const { files, nowMs, places, readers } = options;

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers({
      'Cache-Control': 'private, no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    const verdict = await files.verifyLink(request.raw.url ?? '', nowMs());
    if (!verdict.ok) return refuse(reply, verdict.status);
    // Nobody would hear of its end any more.
    if (request.raw.socket.destroyed) return reply.hijack();
    const giveBack = places.take({ link: verdict.link, address: request.ip });
    if (!giveBack) return refuse(reply.header('Retry-After', retryAfterSeconds), 429);
    const ended = endOfAnswer(request, reply);
    const unwatch = readers.watch(request.raw.socket);
    ended.addEventListener('abort', () => {
      giveBack();
      unwatch();
    });
    const file = await files.openFile(verdict.path);
    if (file === undefined) return refuse(reply, 404);
    reply.headers({
      'Accept-Ranges': 'bytes',
      'Content-Type': verdict.mime,
      'Content-Disposition': contentDisposition(verdict.downloadName),
    });
    try {
      return await sendFile(request, reply, { file, ended });
    } finally {
      await file.close();
    }
  }

  server.route({ method: ['GET', 'HEAD'], url: '/files/*', handler: serve });
  server.route({
    method: otherMethods,
    url: '/files/*',
    // Before the body is read: nobody has a reason to send one.
    onRequest: async (_request, reply) => refuse(reply.header('Allow', 'GET, HEAD'), 405),
    handler: async (_request, reply) => refuse(reply, 405),
  });
}
