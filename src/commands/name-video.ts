import { parseVideoUrl } from '../domain/parse-video-url.ts';
import type { ParsedVideo, ShortLink, VideoUrlResult } from '../domain/parse-video-url.ts';
import type { PlatformConfiguration } from '../domain/platforms/platforms.ts';
import type { ShortLinks } from '../ports/videos.ts';

export type NamedVideo =
  | { outcome: 'named'; video: ParsedVideo; wasLookedUp: boolean }
  /** `explanation` is a sentence for the client. */
  | { outcome: 'refused'; refusal: Extract<VideoUrlResult, { ok: false }>['refusal']; explanation: string }
  /** No worker could look a short link up, or its platform could not say at the moment. */
  | { outcome: 'no_answer' }
  | { outcome: 'platform_failed' };

/** The item that an address names; a worker looks up short links. */
export async function nameVideo(
  url: string,
  { shortLinks, ...options }: PlatformConfiguration & { shortLinks: ShortLinks },
): Promise<NamedVideo> {
  const parsed = parseVideoUrl(url, options);
  if (!parsed.ok) return { outcome: 'refused', refusal: parsed.refusal, explanation: parsed.explanation };
  if (parsed.video) return { outcome: 'named', video: parsed.video, wasLookedUp: false };
  return await lookUp(parsed.shortLink, shortLinks, options);
}

async function lookUp(link: ShortLink, shortLinks: ShortLinks, options: PlatformConfiguration): Promise<NamedVideo> {
  const answer = await shortLinks.lookUp(link);
  if (answer.outcome === 'no_answer' || answer.outcome === 'platform_failed') return { outcome: answer.outcome };
  // The worker's answer is parsed like input of a client.
  const parsed = answer.outcome === 'found' ? parseVideoUrl(answer.url, options) : undefined;
  if (parsed?.ok && parsed.video?.platform === link.platform)
    return { outcome: 'named', video: parsed.video, wasLookedUp: true };
  return {
    outcome: 'refused',
    refusal: 'unsupported_platform',
    explanation:
      'The platform does not resolve this short link to a single video; send the address of the video itself.',
  };
}
