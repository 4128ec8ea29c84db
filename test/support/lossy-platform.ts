import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import type { VideoReference } from '../../src/ports/videos.ts';
import { listen } from './listen.ts';
import { type Film, filmSeconds } from './lossy-films.ts';
import { startTestPlatform, type TestPlatform } from './sample-platform.ts';

/** What goes wrong with one file, every time that it is asked for. */
export type Fault =
  | { kind: 'status'; status: number }
  /** The answer ends there, and says that this is all. */
  | { kind: 'cut'; atByte: number }
  /** The answer promises everything, and the connection ends there. */
  | { kind: 'closed'; atByte: number }
  /** The connection ends there; what is asked for from there on comes from another place of the file. */
  | { kind: 'resumed wrongly'; atByte: number; fromByte: number }
  /** The answer has no length, and the connection ends there. */
  | { kind: 'unannounced'; atByte: number }
  /** The answer comes in chunks, and the last one says that this is all. */
  | { kind: 'chunked'; atByte: number }
  /** The bytes of another file. */
  | { kind: 'other'; name: string }
  /** Each of two files in the place of the other. */
  | { kind: 'swapped'; name: string }
  /** These bytes, whatever they are. */
  | { kind: 'bytes'; bytes: Buffer; type?: string };

export interface FaultyFile {
  name: string;
  fault: Fault;
}

/** A platform like the sample one, in which each item has a film and one fault of its own. */
export interface LossyPlatform {
  url: string;
  /** @param announces whether the platform tells how long the film is */
  reference(film: Film, fault: FaultyFile | undefined, announces?: boolean): VideoReference;
  close(): Promise<void>;
}

function send(response: ServerResponse, bytes: Buffer, promisedBytes = bytes.length, type = 'video/mp4'): void {
  response.writeHead(200, { 'Content-Length': promisedBytes, 'Accept-Ranges': 'bytes', 'Content-Type': type });
  if (promisedBytes === bytes.length) response.end(bytes);
  else response.write(bytes, () => response.destroy());
}

/** As servers do it: the range that was asked for, else everything. */
function sendWhole(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const [, first, last = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  if (first === undefined) {
    send(response, bytes);
    return;
  }
  const end = last === '' ? bytes.length - 1 : Math.min(Number(last), bytes.length - 1);
  const part = bytes.subarray(Number(first), end + 1);
  response
    .writeHead(206, { 'Content-Range': `bytes ${first}-${end}/${bytes.length}`, 'Content-Length': part.length })
    .end(part);
}

function sendFaulty(request: IncomingMessage, response: ServerResponse, film: Film, { name, fault }: FaultyFile) {
  const bytes = film.files.get(name) ?? Buffer.alloc(0);
  const firstByte = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  switch (fault.kind) {
    case 'status':
      response.writeHead(fault.status).end();
      return;
    case 'cut':
      send(response, bytes.subarray(0, fault.atByte));
      return;
    case 'closed':
      send(response, bytes.subarray(0, fault.atByte), bytes.length);
      return;
    case 'resumed wrongly': {
      if (firstByte === 0) {
        send(response, bytes.subarray(0, fault.atByte), bytes.length);
        return;
      }
      const length = bytes.length - firstByte;
      const wrong = Buffer.concat([bytes.subarray(fault.fromByte), bytes]).subarray(0, length);
      const range = `bytes ${firstByte}-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(206, { 'Content-Range': range, 'Content-Length': length }).end(wrong);
      return;
    }
    case 'unannounced':
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { Connection: 'close' });
      response.end(bytes.subarray(0, fault.atByte));
      return;
    case 'chunked':
      response.writeHead(200, { 'Transfer-Encoding': 'chunked' }).end(bytes.subarray(0, fault.atByte));
      return;
    case 'bytes':
      send(response, fault.bytes, fault.bytes.length, fault.type);
      return;
    case 'swapped':
    case 'other':
      send(response, film.files.get(fault.name) ?? Buffer.alloc(0));
      return;
  }
}

export async function startLossyPlatform(): Promise<LossyPlatform> {
  const items = new Map<string, { film: Film; fault: FaultyFile | undefined; announces: boolean }>();
  const server = createServer((request, response) => {
    const [, area, id = '', name = ''] = /^\/(api\/items|media)\/([a-z0-9-]+)\/?(.*)$/.exec(request.url ?? '') ?? [];
    const item = items.get(id);
    const bytes = item?.film.files.get(name);
    if (area === 'api/items' && item) {
      const durationSeconds = item.announces ? filmSeconds : undefined;
      const described = { title: 'A film', durationSeconds, ...item.film.description(`/media/${id}`) };
      send(response, Buffer.from(JSON.stringify(described)));
    } else if (item?.fault?.name === name) sendFaulty(request, response, item.film, item.fault);
    else if (item?.fault?.fault.kind === 'swapped' && item.fault.fault.name === name)
      send(response, item.film.files.get(item.fault.name) ?? Buffer.alloc(0));
    else if (bytes) sendWhole(request, response, bytes);
    else response.writeHead(404).end();
  });
  const { port, close } = await listen(server);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    reference(film, fault, announces = true) {
      const videoId = `case-${items.size + 1}`;
      items.set(videoId, { film, fault, announces });
      const page = 'stillPaths' in film.description('') ? 'photo' : 'watch';
      return { platform: 'sample', videoId, canonicalUrl: `${url}/${page}/${videoId}` };
    },
    close,
  };
}

/** The platform and an engine that reads it, for the tests of one file: started before them, closed after them. */
export function lossyPlatformOfFile(): { lossy: LossyPlatform; platform: TestPlatform } {
  const started = {} as { lossy: LossyPlatform; platform: TestPlatform };
  beforeAll(async () => {
    started.lossy = await startLossyPlatform();
    started.platform = await startTestPlatform([started.lossy.url]);
  });
  afterAll(async () => {
    await started.lossy.close();
    await started.platform.close();
  });
  return started;
}
