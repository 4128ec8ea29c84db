import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxUrlCharacters, parseVideoUrl } from '../../../src/domain/parse-video-url.ts';
import { platforms } from '../../../src/domain/platforms/platforms.ts';
import { platformAddresses } from '../../support/generated-addresses.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';

/** Written down apart from the table: the names below which all hosts of a platform lie. */
const ownHosts: Readonly<Record<string, RegExp>> = {
  youtube:
    /(?:^|\.)(?:youtube(?:-nocookie|kids|education)?\.com|youtube\.googleapis\.com|youtu\.be|(?:accounts|consent)\.google\.com)$/,
  tiktok: /(?:^|\.)tiktokv?\.com$/,
  instagram: /(?:^|\.)(?:instagram\.com|instagr\.am)$/,
  facebook:
    /(?:^|\.)(?:facebook\.com|fb\.com|fb\.watch|fb\.gg|facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd\.onion)$/,
  twitter:
    /(?:^|\.)(?:twitter\.com|x\.com|t\.co|amp\.twimg\.com|twitter3e4tixl4xyajtrzo62zg5vztmjuricljdp2c5kshju4avyoid\.onion)$/,
  vimeo: /(?:^|\.)(?:vimeo\.com|vimeopro\.com|vhx\.tv)$/,
  dailymotion: /(?:^|\.)(?:dailymotion\.(?:com|fr|es|it|co\.uk)|dai\.ly)$/,
  twitch: /(?:^|\.)twitch\.tv$/,
  reddit: /(?:^|\.)(?:reddit\.com|redditmedia\.com|redd\.it)$/,
  soundcloud: /(?:^|\.)soundcloud\.com$/,
  bilibili: /(?:^|\.)(?:bilibili\.com|bilibili\.tv|biliintl\.com|b23\.tv|bili(?:22|23|33|2233)\.cn|bili\.im)$/,
  pinterest: /(?:^|\.)(?:pinterest\.[a-z]{2,4}(?:\.[a-z]{2})?|pin\.it)$/,
  tumblr: /(?:^|\.)(?:tumblr\.com|tmblr\.co|t\.umblr\.com)$/,
  bluesky: /(?:^|\.)bsky\.app$/,
  rutube: /(?:^|\.)rutube\.ru$/,
  vk: /(?:^|\.)(?:vk\.com|vk\.ru|vkvideo\.ru|vkplay\.ru|vkplay\.live)$/,
  ok: /(?:^|\.)(?:ok\.ru|odnoklassniki\.ru)$/,
  streamable: /(?:^|\.)streamable\.com$/,
  loom: /(?:^|\.)loom\.com$/,
  snapchat: /(?:^|\.)snapchat\.com$/,
  bandcamp: /(?:^|\.)bandcamp\.com$/,
  rumble: /(?:^|\.)rumble\.com$/,
  sample: /^127\.0\.0\.1$/,
};

const samplePlatformOrigin = 'http://127.0.0.1:34567';
const cases = scaled(2_000, 100_000);
const sampleFile = new URL('platform-urls.json', import.meta.url);
const sample = JSON.parse(readFileSync(sampleFile, 'utf8')) as { urls: { url: string }[] };
const real = fc.constantFrom(...sample.urls.map(({ url }) => url));

const hosts = platforms.flatMap((platform) => platform.hosts).map((host) => host.replace(/^(?:\*|\{\w+\})/, 'a'));
const pieces = fc.constantFrom(
  'https://',
  'http://',
  'www.',
  '/',
  '?',
  '&',
  '#',
  '=',
  ':',
  '@',
  '%',
  '\\',
  '.',
  ';',
  '!',
  '..',
  '%2e',
  '%2F',
  'watch',
  'v=',
  'dQw4w9WgXcQ',
  'video',
  '123',
  'u=',
  'attribution_link',
  '127.0.0.1:34567',
  'ｙ',
  '\u0000',
  '\u202e',
  '/s/',
  'embed',
  'x'.repeat(300),
  '[::1]',
  'user:pass@',
  ':8443',
  '//',
  'xn--',
  '0x7f.1',
  ...hosts,
);

/** A real or made address in which something was cut out, put in or doubled. */
const mutated = fc
  .tuple(
    fc.oneof(real, platformAddresses),
    fc.array(fc.tuple(fc.nat(120), fc.nat(6), pieces), { minLength: 1, maxLength: 4 }),
  )
  .map(([address, changes]) =>
    changes.reduce((text, [at, length, piece]) => `${text.slice(0, at)}${piece}${text.slice(at + length)}`, address),
  );

const anything = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 14 }).map((parts) => parts.join('')),
);

/** @returns whether it was accepted */
function check(address: string): boolean {
  const result = parseVideoUrl(address, { samplePlatformOrigin });
  if (!result.ok) {
    expect(result.explanation.length).toBeGreaterThan(10);
    return false;
  }
  const { platform, videoId } = result.video ?? result.shortLink;
  const rebuilt = result.video?.canonicalUrl ?? result.shortLink?.url ?? '';
  const canonical = new URL(rebuilt);
  for (const url of [new URL(address), canonical]) {
    expect(url.hostname.replace(/\.$/, '')).toMatch(ownHosts[platform] ?? /^never$/);
    expect(url.username + url.password).toBe('');
    if (platform !== 'sample') expect(url.port).toBe('');
  }
  if (platform !== 'sample') expect(canonical.protocol).toBe('https:');
  expect(videoId).toMatch(/^[\w./:-]{1,256}$/);
  expect(parseVideoUrl(rebuilt, { samplePlatformOrigin })).toEqual(result);
  return true;
}

describe('whatever is sent: nothing is thrown, no foreign host accepted, and the canonical address is its own', () => {
  it.each([
    ['anything', anything],
    ['real addresses that were changed', mutated],
    ['addresses made of the shapes', platformAddresses],
  ])('%s', (name, addresses) => {
    let accepted = 0;
    let checked = 0;
    fc.assert(
      fc.property(addresses, (address) => {
        checked += 1;
        if (check(address)) accepted += 1;
      }),
      { numRuns: cases },
    );
    expect(checked).toBeGreaterThanOrEqual(cases);
    if (isLongProof) console.log(`${name}: ${checked} addresses, ${accepted} accepted, none wrongly`);
  });

  it('takes time in proportion to the length, on any host', () => {
    const units = [
      '/',
      'a/',
      'video/',
      '-',
      '--',
      '_',
      '&v=',
      '&',
      '=',
      '%2F',
      '#',
      '?z=video',
      '1',
      'p/u/',
      '.',
      ':',
      ';',
    ];
    const starts = hosts.flatMap((host) => [`https://${host}/`, `https://${host}/video/`, `https://${host}/?v=`]);
    const startedMs = performance.now();
    for (const start of starts) {
      for (const unit of units) {
        parseVideoUrl(`${start}${unit.repeat(maxUrlCharacters)}`.slice(0, maxUrlCharacters));
      }
    }
    // Some six thousand addresses, of which each takes some ten microseconds. What the pieces are made of is looked at in
    // platforms.unit.test.ts; this is for what that does not see.
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });
});
