import { describe, expect, it } from 'vitest';
import { parseVideoUrl, servedVideo } from '../../src/domain/parse-video-url.ts';

const id = 'dQw4w9WgXcQ';
const youtubeVideo = {
  ok: true,
  video: {
    platform: 'youtube',
    videoId: id,
    canonicalUrl: `https://www.youtube.com/watch?v=${id}`,
    extractor: 'youtube',
    kind: 'video',
  },
};

describe('an address of a YouTube video', () => {
  it.each([
    `https://www.youtube.com/watch?v=${id}`,
    `http://youtube.com/watch?v=${id}`,
    `https://m.youtube.com/watch?v=${id}`,
    `https://music.youtube.com/watch?v=${id}&feature=share`,
    `https://uk.youtube.com/watch?v=${id}`,
    `HTTPS://WWW.YouTube.COM/watch?v=${id}`,
    `https://www.youtube.com./watch?v=${id}`,
    `https://www.youtube.com//watch?v=${id}`,
    `https://www.youtube.com/watch/?v=${id}`,
    `https://www.youtube.com/watch.php?v=${id}`,
    `https://www.youtube.com/watch_popup?v=${id}`,
    `https://www.youtube.com/movie?v=${id}`,
    `https://www.youtube.com/watch?v=${id}&t=1s&end=9`,
    `https://www.youtube.com/watch?v=${id}#t=0m10s`,
    `https://www.youtube.com/watch?v=${id}&list=PLBCF2DAC6FFB574DE&index=3`,
    `https://www.youtube.com/watch?list=PLBCF2DAC6FFB574DE&v=${id}`,
    `https://www.youtube.com/watch?app=desktop&v=${id}`,
    `https://www.youtube.com/watch?app=desktop&amp;v=${id}`,
    `https://www.youtube.com/watch?feature=player_embedded;v=${id}`,
    `https://www.youtube.com/watch?v=${id}?feature=share`,
    `https://www.youtube.com/watch?v=${id}%26feature=share`,
    `https://www.youtube.com/watch?v=&v=${id}`,
    `https://www.youtube.com/watch?v=${id}&q=größe`,
    `https://www.youtube.com/watch?vi=${id}`,
    `https://www.youtube.com/?v=${id}`,
    `https://www.youtube.com?v=${id}`,
    `https://www.youtube.com/?feature=player_embedded&v=${id}`,
    `https://www.youtube.com/watch/${id}?app=desktop`,
    `https://www.youtube.com/ytscreeningroom?v=${id}`,
    `https://m.youtube.com/details?v=${id}`,
    `https://www.youtube.com/v/${id}?version=3&autohide=1`,
    `https://www.youtube.com/v/${id}&hl=en_US&fs=1`,
    `https://www.youtube.com/vi/${id}`,
    `https://www.youtube.com/e/${id}`,
    `https://www.youtube.com/embed/${id}?rel=0`,
    `https://www.youtube.com/shorts/${id}`,
    `https://www.youtube.com/shorts/${id}/`,
    `https://www.youtube.com/live/${id}?feature=shared`,
    `https://www.youtube-nocookie.com/embed/${id}`,
    `https://youtube-nocookie.com/v/${id}`,
    `https://www.youtubekids.com/watch?v=${id}`,
    `https://www.youtubeeducation.com/embed/${id}`,
    `https://youtube.googleapis.com/v/${id}`,
    `https://youtu.be/${id}`,
    `http://youtu.be/${id}?si=AbCdEf&t=42`,
    `https://youtu.be/${id}?list=PLBCF2DAC6FFB574DE`,
    `https://youtu.be/${id}&feature=channel`,
    `https://youtu.be/${id}/`,
    `https://youtu.be/${id}%3Fsi=AbCdEf`,
    `https://www.youtube.com/shorts/${id}%3Ffeature=share`,
    `https://youtu.be//${id}`,
    `https://youtu.be/watch?v=${id}`,
    `https://youtu.be/shorts/${id}`,
    `https://www.youtube.com/attribution_link?a=8g8kPrPIi&u=%2Fwatch%3Fv%3D${id}%26feature%3Dshare`,
    `https://www.youtube.com/attribution_link?u=/watch?v=${id}&a=x`,
    `https://www.youtube.com/oembed?url=http%3A//www.youtube.com/watch?v%3D${id}&format=json`,
    `https://www.youtube.com/oembed?url=https%3A//youtu.be/${id}`,
    `https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D${id}%26cbrd%3D1&gl=DE`,
    `https://www.youtube.com/verify_age?next_url=/watch%3Fv%3D${id}`,
    `https://m.youtube.com/#/watch?v=${id}`,
    `https://m.youtube.com/index?desktop_uri=%2F#/watch?feature=x&v=${id}`,
    `https://www.youtube.com/watch#!v=${id}`,
    `https://www.youtube.com/tv#/watch?v=${id}`,
    `https://www.youtube.com/tv#/watch/video/control?v=${id}`,
    `https://www.youtube.com/user/Scobleizer#p/u/1/${id}`,
    `https://www.youtube.com/sandalsResorts#p/c/54B8C800269D7C1B/2/${id}`,
  ])('%s', (address) => {
    expect(parseVideoUrl(address)).toEqual(youtubeVideo);
  });

  it('keeps the case and the signs of the id', () => {
    expect(parseVideoUrl('https://www.youtube.com/watch?v=-_aZ09-_bY8')).toMatchObject({
      video: { videoId: '-_aZ09-_bY8', canonicalUrl: 'https://www.youtube.com/watch?v=-_aZ09-_bY8' },
    });
  });
});

describe('an address that is not one of a single video: unsupported_platform', () => {
  it.each([
    ['a playlist', 'https://www.youtube.com/playlist?list=PLBCF2DAC6FFB574DE'],
    ['a playlist', 'https://www.youtube.com/watch?list=PLBCF2DAC6FFB574DE'],
    ['a playlist', 'https://www.youtube.com/embed/videoseries?list=PLBCF2DAC6FFB574DE'],
    ['a channel', 'https://www.youtube.com/embed/live_stream?channel=UCabc'],
    ['a channel', 'https://www.youtube.com/@handle'],
    ['a channel', 'https://www.youtube.com/@handle/live'],
    ['a channel', 'https://www.youtube.com/channel/UC-lHJZR3Gqxm24_Vd_AJ5Yw'],
    ['a channel', 'https://www.youtube.com/c/Name/videos'],
    ['a channel', 'https://www.youtube.com/user/Name'],
    ['a clip', 'https://www.youtube.com/clip/UgytZKpehg-hEMBSn3F4AaABCQ'],
    ['a list of videos', 'https://www.youtube.com/results?search_query=dQw4w9WgXcQ'],
    ['does not name', 'https://www.youtube.com/'],
    ['does not name', 'https://www.youtube.com/watch'],
    ['does not name', 'https://www.youtube.com/watch?v=tooshort'],
    ['does not name', 'https://www.youtube.com/watch?v=dQw4w9WgXcQQ'],
    ['does not name', 'https://www.youtube.com/watch?V=dQw4w9WgXcQ'],
    ['does not name', 'https://www.youtube.com/watch%3Fv=dQw4w9WgXcQ'],
    ['does not name', 'https://www.youtube.com/dQw4w9WgXcQ'],
    ['does not name', 'https://img.youtube.com/vi/dQw4w9WgXcQ/0.jpg'],
    ['does not name', 'https://youtu.be/'],
    ['does not name', 'https://youtu.be/%64Qw4w9WgXcQ'],
    ['does not name', `https://www.youtube.com/oembed?url=https%3A%2F%2Fvimeo.com%2F${id}`],
    ['does not name', `https://www.youtube.com/attribution_link?u=https%3A%2F%2Fevil.example%2Fwatch%3Fv%3D${id}`],
    ['host name', `https://example.com/watch?v=${id}`],
    ['host name', `https://youtube.com.example.com/watch?v=${id}`],
    ['host name', `https://notyoutube.com/watch?v=${id}`],
    ['host name', `https://www-youtube.com/watch?v=${id}`],
    ['host name', `https://a.b.youtube.com/watch?v=${id}`],
    ['host name', `https://.youtube.com/watch?v=${id}`],
    ['host name', `https://www.youtube.com../watch?v=${id}`],
    ['host name', `https://xn--youtube-9z4c.com/watch?v=${id}`],
    ['host name', `https://example.com/?u=https://www.youtube.com/watch?v=${id}`],
    ['host name', `https://example.com#@www.youtube.com/watch?v=${id}`],
    ['host name', 'http://127.0.0.1/watch/clip'],
    ['host name', 'http://0x7f.1/watch/clip'],
    ['host name', 'http://localhost/watch/clip'],
    ['ASCII', 'http://[::1]/watch/clip'],
    ['ASCII', `https://www.youtubе.com/watch?v=${id}`], // A Cyrillic letter stands in the host.
    ['ASCII', `https://ｗｗｗ.youtube.com/watch?v=${id}`],
    ['ASCII', `https://www.youtube。com/watch?v=${id}`],
    ['ASCII', `https://www.%79outube.com/watch?v=${id}`],
    ['user name', `https://www.youtube.com@example.com/watch?v=${id}`],
    ['user name', `https://user:pass@www.youtube.com/watch?v=${id}`],
    ['port', `https://www.youtube.com:8443/watch?v=${id}`],
    ['port', `https://www.youtube.com:80/watch?v=${id}`],
    ['port', `https://www.youtube.com:443/watch?v=${id}`],
    ['port', `http://www.youtube.com:80/watch?v=${id}`],
    ['port', `https://www.youtube.com:/watch?v=${id}`],
  ])('%s: %s', (words, address) => {
    const result = parseVideoUrl(address);
    expect(result).toMatchObject({ ok: false, refusal: 'unsupported_platform' });
    expect(result).toHaveProperty('explanation', expect.stringContaining(words));
  });
});

describe('what is no http(s) address: invalid_request', () => {
  it.each([
    ['nothing', ''],
    ['a word', 'youtube'],
    ['a bare id', id],
    ['no scheme', `www.youtube.com/watch?v=${id}`],
    ['no scheme but slashes', `//www.youtube.com/watch?v=${id}`],
    ['no slashes', `https:www.youtube.com/watch?v=${id}`],
    ['three slashes', `https:///www.youtube.com/watch?v=${id}`],
    ['no host', 'https://'],
    ['another scheme', `ftp://www.youtube.com/watch?v=${id}`],
    ['a file', 'file:///etc/passwd'],
    ['an option', '--exec=id'],
    ['escaped whole', `https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D${id}`],
    ['an impossible port', `https://www.youtube.com:99999/watch?v=${id}`],
    ['an impossible host', 'https://exa%mple.com/'],
    ['a space in front', ` https://www.youtube.com/watch?v=${id}`],
    ['a line end behind', `https://www.youtube.com/watch?v=${id}\n`],
    ['a tab inside', `https://www.you\ttube.com/watch?v=${id}`],
    ['a null character', `https://www.youtube.com/watch?v=${id}\0`],
    ['a space without width', `https://www.youtube.com/\u200bwatch?v=${id}`],
    ['a no-break space', `https://www.youtube.com/watch?v=${id}\u00a0`],
    ['a backslash', `https:\\\\www.youtube.com\\watch?v=${id}`],
    ['a backslash before the at', `https://example.com\\@www.youtube.com/watch?v=${id}`],
    ['half a character', `https://www.youtube.com/watch?v=${id}&q=\ud800`],
    ['2 049 characters', `https://www.youtube.com/watch?v=${id}&q=`.padEnd(2049, 'x')],
  ])('%s', (_name, address) => {
    expect(parseVideoUrl(address)).toMatchObject({ ok: false, refusal: 'invalid_request' });
  });

  it('takes 2 048 characters', () => {
    expect(parseVideoUrl(`https://www.youtube.com/watch?v=${id}&q=`.padEnd(2048, 'x'))).toEqual(youtubeVideo);
  });
});

describe('a stored address', () => {
  const canonicalUrl = 'https://www.youtube.com/watch?v=jNQXAC9IVRw';
  const stored = { platform: 'youtube', videoId: 'jNQXAC9IVRw', canonicalUrl };

  it('is served if it gives the same item when it is read again', () => {
    expect(servedVideo(stored)).toMatchObject({ ...stored, extractor: 'youtube', kind: 'video' });
  });

  it.each([
    { ...stored, videoId: 'dQw4w9WgXcQ' },
    { ...stored, platform: 'vimeo' },
    { ...stored, canonicalUrl: 'https://youtu.be/jNQXAC9IVRw' },
    { ...stored, canonicalUrl: 'https://www.example.com/watch?v=jNQXAC9IVRw' },
    { platform: 'sample', videoId: 'bars', canonicalUrl: 'http://127.0.0.1:34567/watch/bars' },
  ])('is not served otherwise: %j', (changed) => {
    expect(servedVideo(changed)).toBeUndefined();
  });
});

describe('an address of the sample platform', () => {
  const samplePlatformOrigin = 'http://127.0.0.1:34567';

  it('is accepted where a sample platform runs', () => {
    const canonicalUrl = `${samplePlatformOrigin}/watch/forty-seconds`;
    expect(parseVideoUrl(canonicalUrl, { samplePlatformOrigin })).toEqual({
      ok: true,
      video: { platform: 'sample', videoId: 'forty-seconds', canonicalUrl, extractor: 'sample', kind: 'video' },
    });
    expect(parseVideoUrl(`${canonicalUrl}?t=1#x`, { samplePlatformOrigin })).toMatchObject({ video: { canonicalUrl } });
  });

  it('of a photo page is that of an image post', () => {
    const canonicalUrl = `${samplePlatformOrigin}/photo/stills`;
    expect(parseVideoUrl(canonicalUrl, { samplePlatformOrigin })).toMatchObject({
      video: { videoId: 'stills', canonicalUrl, kind: 'images' },
    });
  });

  it('is refused where none runs', () => {
    expect(parseVideoUrl(`${samplePlatformOrigin}/watch/clip`)).toMatchObject({ refusal: 'unsupported_platform' });
  });

  it.each([
    'http://127.0.0.1:34567/',
    'http://127.0.0.1:34567/watch/',
    'http://127.0.0.1:34567/watch/Clip',
    'http://127.0.0.1:34567/watch/clip/more',
    `http://127.0.0.1:34567/watch/${'a'.repeat(65)}`,
    'http://127.0.0.1:34567/media/clip.mp4',
    'http://127.0.0.1:34568/watch/clip',
    'http://127.0.0.1/watch/clip',
    'https://127.0.0.1:34567/watch/clip',
    'http://localhost:34567/watch/clip',
    'http://127.1:34567/watch/clip',
    'http://user@127.0.0.1:34567/watch/clip',
  ])('refuses %s', (address) => {
    expect(parseVideoUrl(address, { samplePlatformOrigin })).toMatchObject({ refusal: 'unsupported_platform' });
  });
});
