import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describeItem, isMediaFile, masterPlaylist, masterPlaylistName } from './catalogue.ts';
import { pagePath, type SampleItem, sampleItems } from './items.ts';
import { createSampleMedia, type SampleMedia } from './media.ts';
import { indexPage, thumbnail, watchPage } from './pages.ts';
import { serveMedia } from './serve-media.ts';

export interface SamplePlatformOptions {
  /** Where generated films are kept; made if it is not there. */
  cacheDirectory: string;
  /** Awaited when a film is made. */
  ffmpegPath: string | Promise<string>;
  /** Default: a free port. */
  port?: number;
  /** Default: no limit. */
  maxConnections?: number | undefined;
}

/**
 * Failures in a row of the item `flaky` before it works: as many requests as yt-dlp makes in one attempt
 * (one and two retries), so that the first attempt at a download fails and the second succeeds.
 */
const flakyFailures = 3;

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

function sendHtml(response: ServerResponse, body: string): void {
  send(response, 200, 'text/html; charset=utf-8', body);
}

function sendJson(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  send(response, status, 'application/json', `${JSON.stringify(body)}\n`);
}

function itemOf(id: string | undefined): SampleItem | undefined {
  return id !== undefined && Object.hasOwn(sampleItems, id) ? sampleItems[id] : undefined;
}

/** Short links: `/s/ID` to an item, two that lead nowhere, and one that the platform cannot resolve at the moment. */
function sendRedirect(response: ServerResponse, id: string): void {
  const targets: Readonly<Record<string, string>> = { away: 'http://localhost:1/watch/clip', loop: '/s/loop' };
  if (id === 'busy') {
    sendJson(response, 503, { error: 'try again later' });
    return;
  }
  response.writeHead(302, { Location: targets[id] ?? `/watch/${id}`, 'Content-Length': 0 });
  response.end();
}

function createHandler(media: SampleMedia): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const failuresLeft = new Map<string, number>();

  async function sendMedia(
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    name: string,
  ): Promise<void> {
    const item = itemOf(id);
    if (item === undefined || item.refusal !== undefined || item.status !== undefined || !isMediaFile(item, name)) {
      sendJson(response, 404, { error: 'no such file' });
      return;
    }
    if (name === masterPlaylistName) {
      send(response, 200, 'application/vnd.apple.mpegurl', masterPlaylist(item));
      return;
    }
    const left = item.delivery === 'flaky' ? (failuresLeft.get(id) ?? flakyFailures) : 0;
    if (left > 0) {
      failuresLeft.set(id, left - 1);
      sendJson(response, 503, { error: 'try again later' });
      return;
    }
    const sent = await serveMedia(request, response, join(await media.directoryOf(item.media), name), item.delivery);
    if (sent) failuresLeft.delete(id);
  }

  function sendItem(response: ServerResponse, area: string, id: string, item: SampleItem): void {
    if (pagePath(id, item) === `/${area}/${id}`) sendHtml(response, watchPage(id, item));
    else if (area === 'watch' || area === 'photo') sendJson(response, 404, { error: 'no such page' });
    else if (area === 'thumbnails') send(response, 200, 'image/svg+xml', thumbnail(item));
    else if (item.status !== undefined) sendJson(response, item.status, { error: item.kind });
    else sendJson(response, 200, describeItem(id, item));
  }

  return async (request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const [, mediaId, mediaName] = /^\/media\/([a-z0-9-]+)\/([a-z0-9.]+)$/.exec(path) ?? [];
    const [, area, id] = /^\/(watch|photo|thumbnails|api\/items)\/([a-z0-9-]+)(?:\.svg)?$/.exec(path) ?? [];
    const [, short] = /^\/s\/([a-z0-9-]+)$/.exec(path) ?? [];
    const item = itemOf(id);
    if (request.method !== 'GET' && request.method !== 'HEAD') sendJson(response, 405, { error: 'read only' });
    else if (path === '/') sendHtml(response, indexPage(`http://127.0.0.1:${String(request.socket.localPort)}`));
    else if (short !== undefined) sendRedirect(response, short);
    else if (mediaId !== undefined && mediaName !== undefined) await sendMedia(request, response, mediaId, mediaName);
    else if (area !== undefined && id !== undefined && item !== undefined) sendItem(response, area, id, item);
    else sendJson(response, 404, { error: 'no such page' });
  };
}

/**
 * Starts the sample platform in this process, on the loopback address only.
 *
 * @throws {Error} when the port is taken.
 */
export async function startSamplePlatform(options: SamplePlatformOptions) {
  const media = createSampleMedia(options);
  const handle = createHandler(media);
  const times = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(times, (request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: error instanceof Error ? error.message : 'unknown' });
    });
  });
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections;
  await once(server.listen(options.port ?? 0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** `http://127.0.0.1:PORT`, without a slash at its end. */
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await Promise.all([closed, media.close()]);
    },
  };
}
