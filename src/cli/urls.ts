import type { ItemKind } from '../domain/download-options.ts';
import { parseVideoUrl } from '../domain/video-url.ts';
import { facts, print } from './output.ts';
import type { Output } from './output.ts';

/**
 * What the service makes of an address, and why. Nothing is fetched: of a short link it says what a worker would do.
 *
 * @param url as a client would send it
 */
export function explainUrlCommand(
  { output, samplePlatformOrigin }: { output: Output; samplePlatformOrigin: string | undefined },
  url: string,
): void {
  const explained = explain(url, samplePlatformOrigin);
  print(output, explained, facts(explained));
}

const explanations: Readonly<Record<ItemKind, string>> = {
  video: 'This names a single item.',
  sound: 'This names sound without a picture, of which the sound is delivered.',
  images: 'This names a post of images, of which stills are delivered.',
};

function explain(url: string, samplePlatformOrigin: string | undefined): Readonly<Record<string, string>> {
  const parsed = parseVideoUrl(url, { samplePlatformOrigin });
  if (!parsed.ok) return { outcome: 'refused', error: parsed.refusal, explanation: parsed.explanation };
  if (parsed.shortLink !== undefined) {
    const { platform, videoId, url: lookedUp } = parsed.shortLink;
    const explanation = 'This is a short link: a worker asks the platform which of its items it stands for.';
    return { outcome: 'short_link', platform, video_id: videoId, looked_up: lookedUp, explanation };
  }
  const { platform, videoId, canonicalUrl, extractor, kind } = parsed.video;
  return {
    outcome: 'item',
    platform,
    video_id: videoId,
    url: canonicalUrl,
    kind,
    extractor,
    explanation: explanations[kind],
  };
}
