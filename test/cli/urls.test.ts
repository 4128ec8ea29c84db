import { describe, expect, it } from 'vitest';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';
import { expectText, within } from './command-line.ts';

const samplePlatform = 'http://127.0.0.1:34567';
const run = within({ REELTALLY_DATA: makeTemporaryDirectory(), SAMPLE_PLATFORM_URL: samplePlatform });

async function explain(url: string): Promise<unknown> {
  const { code, stdout, stderr } = await run('urls', 'explain', url, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('urls explain, with no service running', () => {
  it('says which item an address names', async () => {
    expect(await explain('https://youtu.be/dQw4w9WgXcQ?t=42')).toEqual({
      outcome: 'item',
      platform: 'youtube',
      video_id: 'dQw4w9WgXcQ',
      url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
      kind: 'video',
      extractor: 'youtube',
      explanation: 'This names a single item.',
    });
    expect(await explain('https://soundcloud.com/somebody/a-track')).toMatchObject({
      kind: 'sound',
      explanation: 'This names sound without a picture: the sound is delivered.',
    });
    expect(await explain(`${samplePlatform}/watch/bars`)).toMatchObject({ platform: 'sample', video_id: 'bars' });
  });

  it('says that a short link is looked up, and does not look it up', async () => {
    expect(await explain('https://vm.tiktok.com/ZSabc123')).toEqual({
      outcome: 'short_link',
      platform: 'tiktok',
      video_id: 'ZSabc123',
      looked_up: 'https://vm.tiktok.com/ZSabc123/',
      explanation: 'This is a short link: a worker asks the platform for its item.',
    });
  });

  it('says why an address is refused', async () => {
    expect(await explain('https://www.youtube.com/playlist?list=PLBCF2DAC6FFB574DE')).toEqual({
      outcome: 'refused',
      error: 'unsupported_platform',
      explanation: 'This address of YouTube is that of a playlist; send the address of a single video.',
    });
  });

  it('says it to people too', async () => {
    const ran = await run('urls', 'explain', 'https://youtu.be/dQw4w9WgXcQ');
    expectText(ran, /^outcome +item\nplatform +youtube\nvideo_id +dQw4w9WgXcQ\n/);
  });
});
