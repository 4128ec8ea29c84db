import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ProbeResult, VideoMetadata, VideoReference, VideoSource } from '../ports/videos.ts';

const cacheMs = 300_000;
const maxCached = 5_000;

export interface ProbeDependencies {
  source: VideoSource;
  allows: (video: VideoReference) => boolean;
  logger: Logger;
  /** Probes of the platforms at a time; more are turned away, so that each is answered within its time. */
  maxConcurrent: number;
  timeoutMs: number;
}

/**
 * Answers metadata requests from a short-lived cache, or by asking the platform. Concurrent requests for one video become one
 * request to the platform. Failures are not cached.
 */
export function createProber(dependencies: ProbeDependencies): (video: VideoReference) => Promise<ProbeResult> {
  const found = new LRUCache<string, VideoMetadata>({ max: maxCached, ttl: cacheMs });
  const underWay = new Map<string, Promise<ProbeResult>>();

  return async (video) => {
    if (!dependencies.allows(video)) {
      return { ok: false, reason: 'unsupported_media', detail: 'the platform is not served here' };
    }
    const name = video.canonicalUrl;
    const metadata = found.get(name);
    if (metadata) return { ok: true, metadata };
    const asked = underWay.get(name);
    if (asked) return await asked;
    if (underWay.size >= dependencies.maxConcurrent) {
      return {
        ok: false,
        reason: 'internal_error',
        detail: 'this worker already answers as many metadata requests as it may',
      };
    }
    const asking = ask(dependencies, video).finally(() => underWay.delete(name));
    underWay.set(name, asking);
    const result = await asking;
    if (result.ok) found.set(name, result.metadata);
    return result;
  };
}

async function ask({ source, logger, timeoutMs }: ProbeDependencies, video: VideoReference): Promise<ProbeResult> {
  const result = await source.probe(video, { signal: AbortSignal.timeout(timeoutMs) });
  if (!result.ok) {
    const { platform, videoId } = video;
    logger.info({ platform, videoId, reason: result.reason, detail: result.detail }, 'a metadata request failed');
  }
  return result;
}
