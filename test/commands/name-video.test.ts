import { describe, expect, it } from 'vitest';
import { nameVideo } from '../../src/commands/name-video.ts';
import { noPlatformRules } from '../../src/ports/platform-rules.ts';
import type { ShortLinkAnswer } from '../../src/ports/videos.ts';

const link = 'https://vm.tiktok.com/ZSabc123/';
const item = 'https://www.tiktok.com/@somebody/video/7000000000000000001';

/** Names an address for a platform that resolves every short link to one item, and tells how often it was asked. */
async function name(url: string, rules = noPlatformRules) {
  let lookUps = 0;
  const lookUp = async (): Promise<ShortLinkAnswer> => {
    lookUps += 1;
    return { outcome: 'found', url: item };
  };
  return { named: await nameVideo(url, { shortLinks: { lookUp }, rules }), lookUps };
}

describe('the rules of the operator', () => {
  it('refuse a platform that is switched off, and ask it nothing about its short links', async () => {
    const rules = { ...noPlatformRules, whyOff: (platform: string) => (platform === 'tiktok' ? 'Paused.' : undefined) };
    const refused = {
      outcome: 'refused',
      refusal: 'unsupported_platform',
      explanation: 'This platform is switched off here: Paused.',
    };
    for (const url of [item, link]) expect(await name(url, rules)).toEqual({ named: refused, lookUps: 0 });
    expect((await name('https://vimeo.com/1', rules)).named).toMatchObject({ outcome: 'named' });
  });

  it('refuse a blocked item behind a short link too', async () => {
    const rules = {
      ...noPlatformRules,
      whyBlocked: ({ platform, videoId }: { platform: string; videoId: string }) =>
        `${platform} ${videoId}` === 'tiktok 7000000000000000001' ? 'Notice 17.' : undefined,
    };
    const refused = {
      outcome: 'refused',
      refusal: 'invalid_request',
      explanation: 'This video is blocked here: Notice 17.',
    };
    for (const url of [item, link]) expect((await name(url, rules)).named).toEqual(refused);
    expect((await name(link)).named).toMatchObject({ outcome: 'named', wasLookedUp: true });
  });
});
