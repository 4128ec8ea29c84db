import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ShortLinkAnswer } from '../ports/videos.ts';

const cacheMs = 300_000;
const maxCached = 5_000;

export interface ShortLinkDependencies {
  /** Asks the platform; never throws. */
  resolve: (url: string) => Promise<{ ok: true; url: string } | { ok: false; passing: boolean; detail: string }>;
  logger: Logger;
  /** Look-ups at a time; more are turned away, so that each is answered within its time. */
  maxConcurrent: number;
}

/** Resolves short links from a short-lived cache, or by asking the platform. Failures are not cached. */
export function createShortLinkAnswerer({
  resolve,
  logger,
  maxConcurrent,
}: ShortLinkDependencies): (url: string) => Promise<ShortLinkAnswer> {
  const found = new LRUCache<string, string>({ max: maxCached, ttl: cacheMs });
  let underWay = 0;

  return async (link) => {
    const known = found.get(link);
    if (known !== undefined) return { outcome: 'found', url: known };
    if (underWay >= maxConcurrent) return { outcome: 'no_answer' };
    underWay += 1;
    const result = await resolve(link).finally(() => (underWay -= 1));
    if (!result.ok) {
      logger.info({ detail: result.detail, passing: result.passing }, 'a short link was not resolved');
      return { outcome: result.passing ? 'platform_failed' : 'unresolved' };
    }
    found.set(link, result.url);
    return { outcome: 'found', url: result.url };
  };
}
