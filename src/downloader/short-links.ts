import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { parseVideoUrl, platformAt } from '../domain/parse-video-url.ts';
import type { PlatformConfiguration } from '../domain/platforms/platforms.ts';

export interface ShortLinkOptions extends PlatformConfiguration {
  /** Connects to allowed destinations. Its name resolution and its refusals guard these requests. */
  connect: (host: string, port: number, signal: AbortSignal, platform: string) => Promise<Socket>;
  /** For all requests of a link together. */
  timeoutMs: number;
  /** Certificate authorities in PEM; default: those that Node trusts. */
  certificateAuthorities?: string;
}

/**
 * The address that a short link leads to, or why there is none, for the log. `passing` tells a platform that did not answer, or
 * answered that it cannot at the moment, from a link that leads nowhere.
 */
export type ShortLinkResult = { ok: true; url: string } | { ok: false; passing: boolean; detail: string };

/** One or two redirects lead from a link to an item; the others are for consent pages and changes of host. */
const maxRequests = 5;
const maxHeaderBytes = 16 * 1024;
const redirects: readonly (number | undefined)[] = [301, 302, 303, 307, 308];
/** Besides all 5xx: refusals of the asker or of the moment. They say nothing of the link. */
const passingStatuses: readonly number[] = [401, 403, 407, 408, 421, 425, 429];

const nowhere = (detail: string): ShortLinkResult => ({ ok: false, passing: false, detail });
const noAnswer = (detail: string): ShortLinkResult => ({ ok: false, passing: true, detail });

/**
 * Resolves short links by asking their platforms.
 *
 * Only hosts of the link's own platform are asked, over https (except for the sample platform), and only the head of a response
 * is read. The address that the platform names is parsed like a client's: it must be an item of the same platform.
 *
 * @returns a function that takes a link as rebuilt by `parseVideoUrl`, and never throws
 */
export function createShortLinkResolver(options: ShortLinkOptions): (url: string) => Promise<ShortLinkResult> {
  return async (url) => {
    const link = parseVideoUrl(url, options);
    if (!link.ok || link.shortLink === undefined) return nowhere('this is no short link');
    try {
      return await follow(link.shortLink.url, link.shortLink.platform, options);
    } catch (error) {
      return noAnswer(error instanceof Error ? error.message : String(error));
    }
  };
}

async function follow(start: string, platform: string, options: ShortLinkOptions): Promise<ShortLinkResult> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  let url = start;
  for (let requests = 0; requests < maxRequests; requests += 1) {
    const { status, location } = await headOf(new URL(url), platform, signal, options);
    if (status >= 500 || passingStatuses.includes(status)) return noAnswer(`the platform answers ${String(status)}`);
    const next = redirects.includes(status) && location !== undefined ? URL.parse(location, url) : null;
    if (next === null) return nowhere('the platform redirects to nowhere');
    const parsed = parseVideoUrl(next.href, options);
    if (parsed.ok && parsed.video?.platform === platform) return { ok: true, url: parsed.video.canonicalUrl };
    if (platformAt(next.href, options) !== platform) return nowhere('it leads away from the platform');
    if (next.protocol !== 'https:' && next.origin !== options.samplePlatformOrigin) {
      return nowhere('it leads to an address without TLS');
    }
    url = next.href;
  }
  return nowhere(`it leads nowhere within ${String(maxRequests)} requests`);
}

interface ResponseHead {
  status: number;
  location: string | undefined;
}

/** @returns what the head of the answer to a request says. The body is never read. */
async function headOf(
  url: URL,
  platform: string,
  signal: AbortSignal,
  options: ShortLinkOptions,
): Promise<ResponseHead> {
  signal.throwIfAborted();
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const socket = await options.connect(url.hostname, port, signal, platform);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<ResponseHead>();
    const stream: Duplex = secure
      ? connectTls({
          socket,
          servername: url.hostname,
          ca: options.certificateAuthorities,
          ALPNProtocols: ['http/1.1'],
        })
      : socket;
    const asking = request({
      // An agent would connect by itself.
      createConnection: () => stream,
      path: `${url.pathname}${url.search}`,
      // A user agent of our own, since browsers are often answered with a page instead of a redirect.
      headers: { host: url.host, accept: '*/*', 'user-agent': 'reeltally', connection: 'close' },
      maxHeaderSize: maxHeaderBytes,
      signal,
    });
    stream.on('error', reject);
    asking.on('error', reject);
    asking.on('response', (response) => {
      response.on('error', () => undefined);
      resolve({ status: response.statusCode ?? 0, location: response.headers.location });
    });
    asking.end();
    return await promise;
  } finally {
    socket.destroy();
  }
}
