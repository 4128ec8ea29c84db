import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { contentDisposition } from '../../domain/content-disposition.ts';
import type { FileKey } from '../../ports/files.ts';
import type { PlatformRules } from '../../ports/platform-rules.ts';
import { clientAddress } from '../../requests/client-address.ts';
import { endOfAnswer } from '../../requests/end-of-answer.ts';
import { linkRetryAfterSeconds } from '../retry-after.ts';
import type { limitConnections } from './connections-per-link.ts';
import { refuse } from './file-refusals.ts';
import type { IdleReaders } from './idle-readers.ts';
import { type ByteRange, type OpenFile, sendRange } from './send-range.ts';
import { judgePreconditions, rangeThatCounts, validatorsOf } from './validators.ts';

/** The part of a file store that the route needs. */
interface LinkedFiles {
  verifyLink(
    url: string,
    nowMs: number,
  ): Promise<
    | { ok: true; file: FileKey; path: string; link: string; downloadName: string; mime: string }
    | { ok: false; status: 403 | 404 | 410 }
  >;
  openFile(path: string): Promise<OpenFile | undefined>;
}

const otherMethods: HTTPMethods[] = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * The part of a file that a Range header asks for, RFC 9110 sections 14.1.2 and 14.2: one range of bytes, from a first byte on
 * or counted from the end. Several ranges, other units and nonsense are ignored, as the RFC allows.
 */
export function requestedRange(header: string | undefined, sizeBytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
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
  { file, etag, ended }: { file: OpenFile; etag: string | undefined; ended: AbortSignal },
): Promise<FastifyReply> {
  const sizeBytes = (await file.stat()).size;
  // A range is defined for GET alone, RFC 9110 section 14.2.
  const asked = request.method === 'GET' ? rangeThatCounts(request.headers, etag) : undefined;
  const range = requestedRange(asked, sizeBytes);
  if (range === 'unsatisfiable') return refuse(request, reply.header('Content-Range', `bytes */${sizeBytes}`), 416);
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
  /** SHA-256 of a file, hexadecimal; undefined where that is not known. */
  digestOf: (file: FileKey) => Promise<string | undefined>;
  nowMs: () => number;
  /** Blocked items: links that were given out before end with their block. */
  rules: Pick<PlatformRules, 'blocksFile'>;
  takePlace: ReturnType<typeof limitConnections>;
  readers: IdleReaders;
}

/**
 * Serves finished files to holders of a link. A link is its own permission, so this route stands outside the API: it asks for no
 * key and sends none of the API's headers. HEAD takes the links that were signed for GET.
 */
export function registerFileRoute(server: FastifyInstance, options: FileRouteOptions): void {
  const { files, digestOf, nowMs, rules, takePlace, readers } = options;

  async function serve(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers({
      'Cache-Control': 'private, no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    });
    const verdict = await files.verifyLink(request.raw.url ?? '', nowMs());
    if (!verdict.ok) return refuse(request, reply, verdict.status);
    if (rules.blocksFile(verdict.downloadName.replace(/\.[^.]*$/, ''))) return refuse(request, reply, 404);
    // Nobody would hear of its end any more.
    if (request.raw.socket.destroyed) return reply.hijack();
    const giveBack = takePlace({ link: verdict.link, address: clientAddress(request) });
    if (!giveBack) return refuse(request, reply.header('Retry-After', linkRetryAfterSeconds), 429);
    const ended = endOfAnswer(request, reply);
    const unwatch = readers.watch(request.raw.socket);
    ended.addEventListener('abort', () => {
      giveBack();
      unwatch();
    });
    const [file, digest] = await Promise.all([files.openFile(verdict.path), digestOf(verdict.file)]);
    if (file === undefined) return refuse(request, reply, 404);
    const { etag, reprDigest } = digest === undefined ? {} : validatorsOf(digest);
    if (etag !== undefined) reply.headers({ ETag: etag, 'Repr-Digest': reprDigest });
    reply.headers({
      'Accept-Ranges': 'bytes',
      'Content-Type': verdict.mime,
      'Content-Disposition': contentDisposition(verdict.downloadName),
    });
    try {
      const judged = judgePreconditions(request.headers, etag);
      if (judged === 412) return await refuse(request, reply, 412);
      if (judged === 304) return await reply.removeHeader('Content-Type').code(304).send();
      return await sendFile(request, reply, { file, etag, ended });
    } finally {
      await file.close();
    }
  }

  server.route({ method: ['GET', 'HEAD'], url: '/files/*', handler: serve });
  server.route({
    method: otherMethods,
    url: '/files/*',
    // Before the body is read: nobody has a reason to send one.
    onRequest: async (request, reply) => refuse(request, reply.header('Allow', 'GET, HEAD'), 405),
    handler: async (request, reply) => refuse(request, reply, 405),
  });
}
