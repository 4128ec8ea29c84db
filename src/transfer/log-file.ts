/**
 * The log as a file: one JSON document a line, compressed if its name ends in `.gz`.
 *
 *     {"format":"reeltally-log","version":1,"source":…,"exported":…}
 *     {"stream":…,"revision":…,"id":…,"type":…,"data":…,"metadata":…,"created":…}     one for each event, in the order of the log
 *     {"events":…,"head":…,"sha256":…}     `head` as `LogHead` has it; `sha256` of all bytes before this line
 */

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { RecordedEvent } from '../ports/event-store.ts';
import { LogHead, textOf, type TransferredEvent } from './log-head.ts';

const format = 'reeltally-log';
const formatVersion = 1;
/** More than the largest append that an event store takes. */
const maxLineBytes = 32 * 1024 * 1024;

/** A file that cannot be read as a whole log; the message is for the person who has it. */
export class LogFileRefused extends Error {
  override readonly name = 'LogFileRefused';
}

const isCompressed = (file: string) => file.endsWith('.gz');

/**
 * Writes a log to a new file that only this user may read. The file has its name once it is complete.
 *
 * @param pages the events in the order of the log
 * @throws {LogFileRefused} for a file that exists, or an event that is not JSON; the error of the disk otherwise
 */
export async function writeLogFile(
  file: string,
  { source, exported }: { source: string; exported: string },
  pages: AsyncIterable<readonly RecordedEvent[]>,
): Promise<LogHead> {
  if (existsSync(file)) throw new LogFileRefused(`${file} exists: name another file`);
  const head = new LogHead();
  // In a folder of its own, so that two commands never write the same file.
  const folder = await mkdtemp(`${file}.incomplete-`);
  const incomplete = join(folder, 'log');
  const sink = () => createWriteStream(incomplete, { mode: 0o600, flags: 'wx', flush: true });
  const lines = linesOf({ format, version: formatVersion, source, exported }, pages, head);
  try {
    if (isCompressed(file)) await pipeline(lines, createGzip(), sink());
    else await pipeline(lines, sink());
    await rename(incomplete, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return head;
}

async function* linesOf(
  first: object,
  pages: AsyncIterable<readonly RecordedEvent[]>,
  head: LogHead,
): AsyncGenerator<Buffer> {
  const sha256 = createHash('sha256');
  const hashed = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    sha256.update(bytes);
    return bytes;
  };
  yield hashed(`${JSON.stringify(first)}\n`);
  for await (const events of pages) {
    const lines = events.map((event) => {
      requireJson(event);
      const text = textOf(event);
      head.add(text);
      return `${text.slice(0, -1)},"created":"${event.created.toISOString()}"}\n`;
    });
    yield hashed(lines.join(''));
  }
  yield Buffer.from(`${JSON.stringify({ events: head.events, head: head.hash, sha256: sha256.digest('hex') })}\n`);
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

function requireJson({ stream, revision, data, metadata }: RecordedEvent): void {
  if (isObject(data) && isObject(metadata)) return;
  throw new LogFileRefused(
    `event ${String(revision)} of ${stream} is no JSON object, so that nobody can have written it`,
  );
}

export type FileEvent = TransferredEvent & {
  /** Length of its line, in bytes. */
  bytes: number;
};

interface FileEnd {
  events: number;
  head: string;
  sha256: string;
}

/**
 * Reads a whole file, and compares it with its last line.
 *
 * @param progress told how many events and which share of the file were read
 * @throws {LogFileRefused} for a file that was not written by `writeLogFile`, or was changed, cut or joined since
 */
export async function checkLogFile(
  file: string,
  progress: (events: number, share: number) => void,
): Promise<Pick<FileEnd, 'events' | 'head'>> {
  const sha256 = createHash('sha256');
  const head = new LogHead();
  const reading = { share: () => 0 };
  let end: FileEnd | undefined;
  let number = 0;
  for await (const line of rawLines(file, reading)) {
    number += 1;
    if (end) throw new LogFileRefused(`${file} goes on after its last line: it was joined with something`);
    const parsed = parsedLine(file, number, line);
    if (number === 1) requireFormat(file, parsed);
    else if (isEnd(parsed)) end = parsed;
    else head.add(textOf(eventOf(file, number, parsed)));
    if (!end) sha256.update(line).update('\n');
    if (number % progressEvents === 0) progress(head.events, reading.share());
  }
  if (!end) throw new LogFileRefused(`${file} has no last line: it was cut off after line ${String(number)}`);
  const isSame = end.events === head.events && end.head === head.hash && end.sha256 === sha256.digest('hex');
  if (!isSame) {
    throw new LogFileRefused(
      `${file} was changed after it was written: it has ${String(head.events)} events, and its last line says ` +
        `${String(end.events)} and has another checksum. Copy it again`,
    );
  }
  progress(head.events, 1);
  return { events: head.events, head: head.hash };
}

const progressEvents = 1_000;

/** The events of a file that `checkLogFile` has accepted. */
export async function* readLogFile(file: string): AsyncGenerator<FileEvent> {
  let number = 0;
  for await (const line of rawLines(file)) {
    number += 1;
    const parsed = parsedLine(file, number, line);
    if (number > 1 && !isEnd(parsed)) yield { ...eventOf(file, number, parsed), bytes: line.length };
  }
}

function parsedLine(file: string, number: number, line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    throw new LogFileRefused(`line ${String(number)} of ${file} is damaged: it is no JSON document`);
  }
}

function requireFormat(file: string, parsed: unknown): void {
  const { format: found, version } = Object(parsed) as { format?: unknown; version?: unknown };
  if (found !== format) throw new LogFileRefused(`${file} is no exported log`);
  if (version !== formatVersion) {
    throw new LogFileRefused(
      `${file} has version ${String(version)} of the format; this version reads ${String(formatVersion)}`,
    );
  }
}

const isEnd = (parsed: unknown): parsed is FileEnd => isObject(parsed) && 'sha256' in parsed;

function eventOf(file: string, number: number, parsed: unknown): TransferredEvent {
  const { stream, revision, id, type, data, metadata } = Object(parsed) as Partial<TransferredEvent>;
  const texts = [stream, id, type].every((value) => typeof value === 'string' && value !== '');
  if (!texts || !Number.isSafeInteger(revision) || !isObject(data) || !isObject(metadata)) {
    throw new LogFileRefused(`line ${String(number)} of ${file} is damaged: it is no event`);
  }
  return { stream, revision, id, type, data, metadata } as TransferredEvent;
}

/**
 * The lines of a file. Those of `node:readline` also end at characters that JSON allows within a text.
 *
 * @param reading gets a function that tells which share of the file was read
 */
async function* rawLines(file: string, reading = { share: () => 0 }): AsyncGenerator<Buffer> {
  const { size } = statSync(file);
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 });
  reading.share = () => source.bytesRead / Math.max(size, 1);
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of isCompressed(file) ? decompressed(source) : source) {
      let bytes = rest.length > 0 ? Buffer.concat([rest, chunk as Buffer]) : (chunk as Buffer);
      for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10)) {
        yield bytes.subarray(0, end);
        bytes = bytes.subarray(end + 1);
      }
      if (bytes.length > maxLineBytes) throw new LogFileRefused(`${file} is no exported log: it has no lines`);
      rest = bytes;
    }
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code?.startsWith('Z_')) throw error;
    throw new LogFileRefused(`${file} is damaged: it cannot be decompressed (${(error as Error).message})`);
  } finally {
    source.destroy();
  }
  if (rest.length > 0) throw new LogFileRefused(`${file} was cut off in the middle of its last line`);
}

function decompressed(source: Readable): Readable {
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}
