import type { Command } from 'commander';
import { facts } from '../documents/text.ts';
import type { ItemKind } from '../domain/download-options.ts';
import { parseVideoUrl } from '../domain/parse-video-url.ts';
import { type Output, print } from './output.ts';

/** It needs no running service; one is asked only for the address of its sample platform. Nothing is fetched. */
export function addExplainUrl(urls: Command, output: Output, findSamplePlatform: () => string | undefined): void {
  urls
    .command('explain')
    .description('show platform, id and canonical address of an address, or why it is refused')
    .argument('<url>', 'the address, as a client would send it')
    .action((url: string) => {
      const explained = explain(url, findSamplePlatform());
      print(output, explained, facts(explained));
    });
}

const explanations: Readonly<Record<ItemKind, string>> = {
  video: 'This names a single item.',
  sound: 'This names sound without a picture: the sound is delivered.',
  images: 'This names a post of images: stills are delivered.',
};

function explain(url: string, samplePlatformOrigin: string | undefined): Readonly<Record<string, string>> {
  const parsed = parseVideoUrl(url, { samplePlatformOrigin });
  if (!parsed.ok) return { outcome: 'refused', error: parsed.refusal, explanation: parsed.explanation };
  if (parsed.shortLink !== undefined) {
    const { platform, videoId, url: lookedUp } = parsed.shortLink;
    const explanation = 'This is a short link: a worker asks the platform for its item.';
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
