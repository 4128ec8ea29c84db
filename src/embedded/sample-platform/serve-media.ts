import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sleep } from '../../async/sleep.ts';
import { type Delivery, endlessSizeBytes } from './items.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.m4a': 'audio/mp4',
  '.m3u8': 'application/vnd.apple.mpegurl',
  '.ts': 'video/mp2t',
  '.mpd': 'application/dash+xml',
  '.m4s': 'video/iso.segment',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
};

const throttledDurationMs = 24_000;
const throttledPieces = 96;

interface Span {
  status: 200 | 206 | 416;
  first: number;
  last: number;
}

/** The part of a file that a Range header requests (RFC 9110, section 14.2); anything but one plain range means the whole file. */
function spanOf(range: string | undefined, sizeBytes: number): Span {
  const whole: Span = { status: 200, first: 0, last: sizeBytes - 1 };
  const asked = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '');
  const [from, to] = [asked?.[1] ?? '', asked?.[2] ?? ''];
  if (from === '' && to === '') return whole;
  const first = from === '' ? Math.max(sizeBytes - Number(to), 0) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  return first > last ? { ...whole, status: 416 } : { status: 206, first, last };
}

/** Sends the same bytes in small pieces with pauses, so that the whole file would take `throttledDurationMs`. */
async function* inPieces(path: string, span: Span, sizeBytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const pieceBytes = Math.max(Math.ceil(sizeBytes / throttledPieces), 1);
  const file = createReadStream(path, { start: span.first, end: span.last, highWaterMark: pieceBytes });
  for await (const piece of file) {
    yield piece as Buffer;
    await sleep(throttledDurationMs / throttledPieces, signal);
    signal.throwIfAborted();
  }
}

/** Zeros at a slow pace. The announced size is the point; clients are not meant to read all of them. */
async function* zeros(signal: AbortSignal): AsyncGenerator<Buffer> {
  for (;;) {
    yield Buffer.alloc(16_384);
    await sleep(100, signal);
    signal.throwIfAborted();
  }
}

function bodyOf(path: string, delivery: Delivery, span: Span, sizeBytes: number, signal: AbortSignal): Readable {
  if (delivery === 'endless') return Readable.from(zeros(signal));
  if (delivery === 'throttled') return Readable.from(inPieces(path, span, sizeBytes, signal));
  return createReadStream(path, { start: span.first, end: span.last });
}

/**
 * Answers one request for a media file.
 *
 * @returns whether the last byte was sent to a GET, so that the caller can tell a finished download.
 */
export async function serveMedia(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  delivery: Delivery,
): Promise<boolean> {
  const sizeBytes = delivery === 'endless' ? endlessSizeBytes : (await stat(path)).size;
  const span = spanOf(request.headers.range, sizeBytes);
  response.statusCode = span.status;
  response.setHeader('Accept-Ranges', 'bytes');
  if (span.status === 416) {
    response.setHeader('Content-Range', `bytes */${sizeBytes}`);
    response.end();
    return false;
  }
  response.setHeader('Content-Type', contentTypes[extname(path)] ?? 'application/octet-stream');
  response.setHeader('Content-Length', span.last - span.first + 1);
  if (span.status === 206) response.setHeader('Content-Range', `bytes ${span.first}-${span.last}/${sizeBytes}`);
  if (request.method === 'HEAD') {
    response.end();
    return false;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    await pipeline(bodyOf(path, delivery, span, sizeBytes, gone.signal), response);
    return span.last === sizeBytes - 1;
  } catch {
    // The client has disconnected, or the platform is closing.
    response.destroy();
    return false;
  }
}
