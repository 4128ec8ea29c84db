import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ParsedVideo,
  parseVideoUrl,
  platformAt,
  type VideoUrlResult,
} from '../../../src/domain/parse-video-url.ts';
import { platforms } from '../../../src/domain/platforms/platforms.ts';
import { addressesOf, shapesOfTable } from '../../support/generated-addresses.ts';

interface Sample {
  platform: string;
  url: string;
  video_id: string;
}

const file = new URL('platform-urls.json', import.meta.url);
const { urls } = JSON.parse(readFileSync(file, 'utf8')) as { urls: Sample[] };

/** Hosts that show a platform's videos and are not the platform's own: see docs/platforms.md. */
const foreignHosts = ['main.bsky.dev', 'vid.plus', 'zwearz.com'];

describe('a sample of real addresses', () => {
  const isForeign = ({ url }: Sample) => foreignHosts.includes(new URL(url).hostname);

  it.each(urls.filter((sample) => !isForeign(sample)))('$platform $video_id: $url', (sample) => {
    const result = parseVideoUrl(sample.url);
    expect(result).toMatchObject({ ok: true });
    if (!result.ok) return;
    const { platform, videoId } = result.video ?? result.shortLink;
    expect({ platform, video_id: videoId }).toEqual({ platform: sample.platform, video_id: sample.video_id });
    if (result.video) expect(parseVideoUrl(result.video.canonicalUrl)).toEqual(result);
  });

  it.each(urls.filter(isForeign))('refused, for its host is not that of the platform: $url', ({ url }) => {
    expect(parseVideoUrl(url)).toMatchObject({
      refusal: 'unsupported_platform',
      explanation: 'No supported platform has this host name.',
    });
  });
});

describe('the table of platforms', () => {
  it('has at least 22 platforms, each of another name', () => {
    expect(platforms.length).toBeGreaterThanOrEqual(22);
    expect(new Set(platforms.map(({ name }) => name)).size).toBe(platforms.length);
    for (const { name } of platforms) expect(name).toMatch(/^[a-z]+$/);
  });

  it('bounds every piece, and repeats nothing within a repetition', () => {
    for (const { name, pieces } of platforms) {
      for (const [piece, { source, flags }] of Object.entries(pieces)) {
        expect.soft(source, `${name}: ${piece}`).toMatch(boundedPattern);
        expect.soft(flags, `${name}: ${piece}`).toBe('');
      }
    }
  });

  it.each(shapesOfTable.filter(({ address }) => 'item' in address))(
    '$platform.name $shape names all pieces that its item is made of',
    ({ platform, address, shape }) => {
      if (!('item' in address)) return;
      const needed = `${address.item.replaceAll(/\[[^\]]*\]/g, '')}${address.id ?? '{id}'}`;
      const hosts = (address.hosts ?? platform.hosts).join(' ');
      for (const [name] of needed.matchAll(/\{\w+\}/g)) expect(`${hosts} ${shape}`).toContain(name);
    },
  );

  it.each(shapesOfTable)('$platform.name $shape is read as what it stands for', ({ platform, address, shape }) => {
    const results = fc.sample(addressesOf(platform, address, shape), 30).map((sample) => {
      expect(platformAt(sample)).toBe(platform.name);
      const result = parseVideoUrl(sample);
      if (result.ok && result.video) expect(parseVideoUrl(result.video.canonicalUrl)).toEqual(result);
      return result;
    });
    // Some are taken for another page of the platform first, such as those of a user whose name is that of a page.
    expect(results.filter((result) => isReadAs(address, result)).length).toBeGreaterThan(0);
  });
});

/** Characters, classes and groups, each repeated at most so and so often; no `*` or `+`, and no repeated group. */
const boundedPattern =
  /^(?:\[[^\]]+\](?:\{\d+(?:,\d+)?\})?\??|\\[dw](?:\{\d+(?:,\d+)?\})?|\\?[\w/\-|]\??|\(\?:|\)\??)+$/;

function isReadAs(address: (typeof shapesOfTable)[number]['address'], result: VideoUrlResult): boolean {
  if ('is' in address) return !result.ok && result.explanation.includes(` is that of ${address.is};`);
  if (!result.ok) return false;
  if ('lookUp' in address) return result.shortLink !== undefined;
  const { video } = result as { video?: ParsedVideo };
  return video !== undefined && (!('item' in address) || video.extractor === address.extractor);
}
