import { describe, expect, it } from 'vitest';
import { parseVideoUrl } from '../../../src/domain/parse-video-url.ts';

const hex32 = '0123456789abcdef0123456789abcdef';
const uuid = '01234567-89ab-cdef-0123-456789abcdef';

describe('pages for signing in, for consent and on the way out, with the address of an item in them', () => {
  const inner = (address: string) => encodeURIComponent(address);
  const film = 'https://www.youtube.com/watch?v=BaW_jenozKc';
  const throughYouTube = `https://www.youtube.com/signin?action_handle_signin=true&app=desktop&next=${inner('/watch?v=BaW_jenozKc')}`;
  it.each([
    [`https://consent.google.com/ml?continue=${inner(film)}&gl=DE`, 'BaW_jenozKc'],
    [`https://accounts.google.com/ServiceLogin?service=youtube&continue=${inner(throughYouTube)}`, 'BaW_jenozKc'],
    [`https://accounts.google.com/v3/signin/identifier?continue=${inner(film)}&hl=en`, 'BaW_jenozKc'],
    ['https://www.instagram.com/accounts/login/?next=/p/CWabc_-123/', 'CWabc_-123'],
    ['https://www.instagram.com/accounts/login/?next=%2Freel%2FCWabc_-123%2F&source=desktop_nav', 'CWabc_-123'],
    [`https://l.instagram.com/?u=${inner('https://www.instagram.com/p/CWabc_-123/')}&e=AT0`, 'CWabc_-123'],
    ['https://twitter.com/login?redirect_after_login=%2Fsomebody%2Fstatus%2F1234567890', '1234567890'],
    ['https://x.com/i/flow/login?redirect_after_login=%2Fsomebody%2Fstatus%2F1234567890', '1234567890'],
    [
      `https://www.tiktok.com/login?redirect_url=${inner('https://www.tiktok.com/@a/video/7000000000000000001')}&lang=en`,
      '7000000000000000001',
    ],
    [
      `https://www.tiktok.com/login/phone-or-email?redirect_url=${inner('https://www.tiktok.com/@a/video/7000000000000000001')}`,
      '7000000000000000001',
    ],
    ['https://vimeo.com/log_in?redirect=%2F12345678', '12345678'],
    ['https://www.reddit.com/login/?dest=https%3A%2F%2Fwww.reddit.com%2Fr%2Fx%2Fcomments%2Fabc123%2F', 'abc123'],
    ['https://www.pinterest.com/login/?next=%2Fpin%2F123456789%2F', '123456789'],
    ['https://soundcloud.com/signin?return_to=%2Fsomebody%2Fa-track', 'somebody/a-track'],
    ['https://www.twitch.tv/login?redirect_uri=https%3A%2F%2Fwww.twitch.tv%2Fvideos%2F123456789', '123456789'],
    ['https://ok.ru/dk?st.cmd=anonymMain&st.redirect=%2Fvideo%2F12345678', '12345678'],
    ['https://vk.com/away.php?to=https%3A%2F%2Fvk.com%2Fvideo-12_34', '-12_34'],
    ['https://login.vk.com/?act=login&to=https%3A%2F%2Fvk.com%2Fvideo-12_34', '-12_34'],
    ['https://m.facebook.com/login.php?next=https%3A%2F%2Fm.facebook.com%2Freel%2F12345', '12345'],
    ['https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.facebook.com%2Freel%2F12345&h=AT0', '12345'],
    ['https://www.facebook.com/privacy/consent/?next=https%3A%2F%2Fwww.facebook.com%2Freel%2F12345', '12345'],
    ['https://t.umblr.com/redirect?z=https%3A%2F%2Fsomebody.tumblr.com%2Fpost%2F12345&t=x', '12345'],
    ['https://www.tumblr.com/login?redirect_to=%2Fsomebody%2F12345', '12345'],
    ['https://passport.bilibili.com/login?gourl=https%3A%2F%2Fwww.bilibili.com%2Fvideo%2FBV1xx411c7mD', 'BV1xx411c7mD'],
    ['https://www.dailymotion.com/signin?urlback=%2Fvideo%2Fx8abcde', 'x8abcde'],
    ['https://rumble.com/login.php?next=%2Fv6abcde-words.html', 'v6abcde'],
    [`https://www.loom.com/login?redirect=%2Fshare%2F${hex32}`, hex32],
  ])('%s', (address, videoId) => {
    expect(parseVideoUrl(address)).toMatchObject({ ok: true, video: { videoId } });
  });

  it.each([
    `https://accounts.google.com/ServiceLogin?continue=${inner('https://vimeo.com/12345678')}`,
    `https://www.instagram.com/accounts/login/?next=${inner('https://instagram.com.evil.example/p/CWabc_-123/')}`,
    `https://vk.com/away.php?to=${inner('http://127.0.0.1/video-12_34')}`,
    `https://vk.com/away.php?to=${inner('https://user@vk.com/video-12_34')}`,
    `https://l.facebook.com/l.php?u=${inner('https://www.youtube.com/watch?v=BaW_jenozKc')}`,
    `https://accounts.google.com/a?continue=${inner(`https://accounts.google.com/b?continue=${inner(throughYouTube)}`)}`,
    'https://x.com/i/flow/login?redirect_after_login=%2Fhome',
    'https://x.com/i/flow/login?redirect_after_login=%E0%A4%A',
  ])('an item of another platform, none, or one too deep: %s', (address) => {
    expect(parseVideoUrl(address)).toMatchObject({ ok: false, refusal: 'unsupported_platform' });
  });
});

describe('addresses as platforms write them: id and canonical address', () => {
  it.each([
    [
      'https://www.tiktok.com/@some.body/video/7000000000000000001?lang=en',
      '7000000000000000001',
      '/@some.body/video/',
    ],
    ['https://m.tiktok.com/v/7000000000000000001.html', '7000000000000000001', 'www.tiktok.com/@_/video/'],
    ['https://www.tiktok.com/embed/v2/7000000000000000001', '7000000000000000001', 'www.tiktok.com/@_/video/'],
    ['https://www.instagram.com/somebody/reel/CWabc_-123/?igsh=x', 'CWabc_-123', 'www.instagram.com/reel/CWabc_-123/'],
    ['http://instagr.am/p/CWabc_-123', 'CWabc_-123', 'www.instagram.com/p/CWabc_-123/'],
    [
      'https://www.facebook.com/some.page/videos/a-title/123456789012345/',
      '123456789012345',
      '/watch/?v=123456789012345',
    ],
    [
      'https://www.facebook.com/plugins/video.php?href=https%3A%2F%2Fwww.facebook.com%2Fpage%2Fvideos%2F12345%2F',
      '12345',
      '?v=',
    ],
    ['https://www.facebook.com/login/?next=https%3A%2F%2Fwww.facebook.com%2Freel%2F12345', '12345', '/watch/?v=12345'],
    ['https://www.facebook.com/#!/video.php?v=12345', '12345', '/watch/?v=12345'],
    ['https://twitter.com/#!/somebody/status/1234567890', '1234567890', 'https://x.com/i/status/1234567890'],
    ['https://mobile.twitter.com/somebody/status/1234567890/video/1?s=20', '1234567890', 'x.com/i/status/1234567890'],
    ['https://x.com/somebody/status/1234567890/video/2', '1234567890', 'x.com/i/status/1234567890/video/2'],
    ['https://player.vimeo.com/video/12345678?h=0123456789&autoplay=1', '12345678', 'vimeo.com/12345678/0123456789'],
    ['https://vimeo.com/channels/staffpicks/12345678', '12345678', 'https://vimeo.com/12345678'],
    ['https://www.dailymotion.com/video/x8abcde_some-words_news', 'x8abcde', 'www.dailymotion.com/video/x8abcde'],
    ['https://dai.ly/x8abcde', 'x8abcde', 'www.dailymotion.com/video/x8abcde'],
    [
      'https://clips.twitch.tv/embed?clip=SomeClipName-abc&parent=x',
      'SomeClipName-abc',
      'clips.twitch.tv/SomeClipName-abc',
    ],
    ['https://fb.com/pg/page/videos/12345', '12345', '/watch/?v=12345'],
    ['https://www.facebook.com/%E0%B8%82-1234567/videos/12345/', '12345', '/watch/?v=12345'],
    ['https://www.facebook.com/%E0%B8%82-1234567/posts/12345/', '12345', '.com/1234567/posts/12345'],
    ['https://m.facebook.com/groups/123/?multi_permalinks=45678', '45678', '.com/groups/123/posts/45678/'],
    [
      'https://platform.twitter.com/embed/Tweet.html?theme=dark&id=1234567890',
      '1234567890',
      'x.com/i/status/1234567890',
    ],
    ['https://vimeo.com/showcase/123/video/12345678?h=0123456789', '12345678', 'vimeo.com/12345678/0123456789'],
    ['https://vimeo.com/album/123/video/12345678/0123456789', '12345678', 'vimeo.com/12345678/0123456789'],
    ['https://vimeo.com/manage/videos/12345678/0123456789', '12345678', 'vimeo.com/12345678/0123456789'],
    ['https://www.dailymotion.com/us/video/x8abcde', 'x8abcde', 'www.dailymotion.com/video/x8abcde'],
    ['https://www.dailymotion.co.uk/video/x8abcde_words', 'x8abcde', 'www.dailymotion.com/video/x8abcde'],
    ['https://www.reddit.com/link/abc123/video/def456/player', 'abc123', 'www.reddit.com/comments/abc123/'],
    ['https://www.reddit.com/over18?dest=%2Fr%2Fx%2Fcomments%2Fabc123', 'abc123', 'www.reddit.com/comments/abc123/'],
    ['https://reddit.com/1abc23d', '1abc23d', 'www.reddit.com/comments/1abc23d/'],
    ['https://redd.it/abc123', 'abc123', 'www.reddit.com/comments/abc123/'],
    ['https://old.reddit.com/r/some_where/comments/abc123/a_title/', 'abc123', 'www.reddit.com/comments/abc123/'],
    ['https://www.bilibili.com/video/BV1abcdefghi/?p=3', 'BV1abcdefghi', '/video/BV1abcdefghi?p=3'],
    ['https://www.bilibili.com/video/BV1abcdefghi?p=1', 'BV1abcdefghi', '/video/BV1abcdefghi'],
    ['https://www.bilibili.com/video/av170001/#page=2', 'av170001', '/video/av170001?p=2'],
    ['https://www.bilibili.com/list/ml123?oid=1&bvid=BV1abcdefghi&p=3', 'BV1abcdefghi', '/video/BV1abcdefghi?p=3'],
    ['https://www.bilibili.com/festival/x?bvid=BV1abcdefghi&p=3', 'BV1abcdefghi', '/video/BV1abcdefghi?p=3'],
    ['https://www.bilibili.com/medialist/play/ml123/BV1abcdefghi', 'BV1abcdefghi', '/video/BV1abcdefghi'],
    ['https://player.bilibili.com/player.html?aid=17&bvid=BV1abcdefghi&cid=1&page=2', 'BV1abcdefghi', 'fghi?p=2'],
    ['https://player.bilibili.com/player.html?aid=170001&page=3', 'av170001', '/video/av170001?p=3'],
    ['https://www.bilibili.com/blackboard/html5mobileplayer.html?bvid=BV1abcdefghi&p=2', 'BV1abcdefghi', 'fghi?p=2'],
    ['https://m.bilibili.com/dynamic/12345', '12345', 'https://t.bilibili.com/12345'],
    ['https://bili2233.cn/BV1abcdefghi', 'BV1abcdefghi', '/video/BV1abcdefghi'],
    ['https://www.bilibili.tv/th/video/12345', '12345', 'www.bilibili.tv/en/video/12345'],
    ['https://uk.pinterest.com/pin/some-words--123456789/', '123456789', 'www.pinterest.com/pin/123456789/'],
    ['https://www.pinterest.se/pin/123456789/', '123456789', 'www.pinterest.com/pin/123456789/'],
    ['https://jp.pinterest.com/pin/%E3%83%8D%E3%82%A4--123456789/', '123456789', 'www.pinterest.com/pin/123456789/'],
    ['https://www.tumblr.com/video/a-blog/123456789/700/', '123456789', 'https://a-blog.tumblr.com/post/123456789'],
    [
      'https://www.tumblr.com/Some-Blog/123456789/some-words',
      '123456789',
      'https://some-blog.tumblr.com/post/123456789',
    ],
    ['https://bsky.app/profile/did:plc:abc123/post/3labc', '3labc', 'bsky.app/profile/did:plc:abc123/post/3labc'],
    ['https://bsky.app/profile/did%3Aplc%3Aabc123/post/3labc', '3labc', '/profile/did:plc:abc123/post/3labc'],
    ['https://embed.bsky.app/embed/did:plc:abc1/app.bsky.feed.post/3labc', '3labc', 'did:plc:abc1/post/3labc'],
    [`https://rutube.ru/play/embed/${hex32}/?p=AbC-123`, hex32, `rutube.ru/video/private/${hex32}/?p=AbC-123`],
    [`https://rutube.ru/video/${hex32}/?p=AbC-123`, hex32, `rutube.ru/video/private/${hex32}/?p=AbC-123`],
    [`https://rutube.ru/video/private/${hex32}/?p=AbC-123`, hex32, `rutube.ru/video/private/${hex32}/?p=AbC-123`],
    [`https://rutube.ru/shorts/${hex32}/`, hex32, `rutube.ru/video/${hex32}/`],
    ['https://m.vk.com/feed?z=clip-12_34%2Fabc', '-12_34', 'https://vk.com/video-12_34'],
    ['https://vk.com/im?z=video-12_34%2F0123456789abcdef01', '-12_34', '/video-12_34?list=0123456789abcdef01'],
    ['https://vk.com/im?z=video-12_34/ln-AbC123/pl_1_-2', '-12_34', '/video-12_34?list=ln-AbC123'],
    ['https://vk.com/videos-12?z=video-12_34%2Fclub12', '-12_34', 'https://vk.com/video-12_34'],
    ['https://vk.com/video_ext.php?id=34&oid=-12&hash=0123abcd', '-12_34', 'video_ext.php?oid=-12&id=34&hash=0123abcd'],
    [`https://live.vkplay.ru/somebody/record/${uuid}/records`, uuid, `live.vkvideo.ru/somebody/record/${uuid}`],
    ['https://m.ok.ru/dk?st.cmd=movieLayer&st.mvId=123456789&tkn=1', '123456789', 'https://ok.ru/video/123456789'],
    ['https://streamable.com/s/abc12/defgh', 'abc12', 'https://streamable.com/abc12'],
    [`https://www.loom.com/share/Some-Title-${hex32}?sid=x`, hex32, `https://www.loom.com/share/${hex32}`],
    ['https://www.snapchat.com/@some.body/spotlight/W7_abc', 'W7_abc', 'https://www.snapchat.com/spotlight/W7_abc'],
    ['https://rumble.com/v1abcd-the-u.s.-words.html?e9s=x', 'v1abcd', 'https://rumble.com/v1abcd-the-u.s.-words.html'],
    ['https://rumble.com/embed/u4x.v1abcd/?pub=4', 'v1abcd', 'https://rumble.com/embed/v1abcd'],
  ])('%s: %s', (address, videoId, canonicalPart) => {
    const result = parseVideoUrl(address);
    expect(result).toMatchObject({ ok: true, video: { videoId, kind: 'video' } });
    if (!result.ok || !result.video) return;
    expect(result.video.canonicalUrl).toContain(canonicalPart);
    expect(parseVideoUrl(result.video.canonicalUrl)).toEqual(result);
  });

  it.each([
    ['https://soundcloud.com/somebody/a-track/s-AbC123?in=x/sets/y', 'somebody/a-track', '/somebody/a-track/s-AbC123'],
    ['https://w.soundcloud.com/player/?url=https%3A//api.soundcloud.com/tracks/1234&color=x', '1234', '/tracks/1234'],
    [
      'https://w.soundcloud.com/player/?visual=true&url=https%3A%2F%2Fapi.soundcloud.com%2Ftracks%2F1234&secret_token=s-AbC12',
      '1234',
      'https://api.soundcloud.com/tracks/1234?secret_token=s-AbC12',
    ],
    [
      'https://w.soundcloud.com/player/?url=https%3A//api.soundcloud.com/tracks/1234%3Fsecret_token%3Ds-in&secret_token=s-out',
      '1234',
      'https://api.soundcloud.com/tracks/1234?secret_token=s-in',
    ],
    ['http://an-artist.bandcamp.com/track/a-track?from=x', 'a-track', 'https://an-artist.bandcamp.com/track/a-track'],
    ['https://bandcamp.com/?show=224', '224', 'https://bandcamp.com/radio?show=224'],
    ['https://m.bilibili.com/audio/au12345', '12345', 'https://www.bilibili.com/audio/au12345'],
    ['https://twitter.com/i/spaces/1OwxWzwzWvZxQ/peek', '1OwxWzwzWvZxQ', 'https://x.com/i/spaces/1OwxWzwzWvZxQ'],
  ])('sound alone: %s: %s', (address, videoId, canonicalPart) => {
    const result = parseVideoUrl(address);
    expect(result).toMatchObject({ video: { videoId, kind: 'sound' } });
    expect(result).toHaveProperty('video.canonicalUrl', expect.stringContaining(canonicalPart));
  });

  it('a post of images is one too', () => {
    expect(parseVideoUrl('https://www.tiktok.com/@somebody/photo/7000000000000000001')).toMatchObject({
      video: { kind: 'images', canonicalUrl: 'https://www.tiktok.com/@somebody/photo/7000000000000000001' },
    });
  });
});

describe('addresses that only the platform can resolve', () => {
  it.each([
    ['tiktok', 'http://vm.tiktok.com/ZSabc123', 'https://vm.tiktok.com/ZSabc123/'],
    ['tiktok', 'https://www.tiktok.com/t/ZSabc123/?x=y', 'https://www.tiktok.com/t/ZSabc123/'],
    ['tiktok', 'https://lite.tiktok.com/t/ZSabc123/', 'https://lite.tiktok.com/t/ZSabc123/'],
    ['instagram', 'https://www.instagram.com/share/reel/AbC_123', 'https://www.instagram.com/share/reel/AbC_123/'],
    ['facebook', 'https://fb.watch/AbC_12-3/?mibextid=x', 'https://fb.watch/AbC_12-3/'],
    ['facebook', 'https://www.facebook.com/share/v/AbC123/', 'https://www.facebook.com/share/v/AbC123/'],
    ['facebook', 'https://fb.gg/v/AbC_12-3/', 'https://fb.gg/v/AbC_12-3/'],
    ['twitter', 'https://pic.twitter.com/AbC123', 'https://pic.twitter.com/AbC123'],
    ['twitter', 'https://pic.x.com/AbC123', 'https://pic.x.com/AbC123'],
    ['twitter', 'https://t.co/AbC123', 'https://t.co/AbC123'],
    ['reddit', 'https://v.redd.it/abc123/HLSPlaylist.m3u8', 'https://v.redd.it/abc123'],
    ['reddit', 'https://www.reddit.com/r/some_where/s/AbC123', 'https://www.reddit.com/r/some_where/s/AbC123'],
    ['soundcloud', 'https://on.soundcloud.com/AbC123', 'https://on.soundcloud.com/AbC123'],
    ['bilibili', 'https://b23.tv/AbC123', 'https://b23.tv/AbC123'],
    ['bilibili', 'https://bili2233.cn/AbC123', 'https://b23.tv/AbC123'],
    ['bilibili', 'https://bili.im/AbC123', 'https://bili.im/AbC123'],
    ['tumblr', 'http://tmblr.co/ZAbC12-3', 'https://tmblr.co/ZAbC12-3'],
    ['pinterest', 'https://pin.it/AbC123', 'https://pin.it/AbC123'],
    ['snapchat', 'https://t.snapchat.com/AbC123', 'https://t.snapchat.com/AbC123'],
  ])('%s: %s', (platform, address, url) => {
    const result = parseVideoUrl(address);
    expect(result).toMatchObject({ ok: true, shortLink: { platform, url } });
    expect(parseVideoUrl(url)).toEqual(result);
  });
});

describe('addresses of other pages: unsupported_platform, with a word about what they are', () => {
  it.each([
    ['a user', 'https://www.tiktok.com/@somebody'],
    ['a live stream', 'https://www.tiktok.com/@somebody/live'],
    ['a list of videos', 'https://www.tiktok.com/tag/words'],
    ['a collection', 'https://www.tiktok.com/@somebody/playlist/words-123'],
    ['a user', 'https://www.instagram.com/somebody/'],
    ['a list of videos', 'https://www.instagram.com/explore/tags/words/'],
    ['a list of videos', 'https://www.instagram.com/somebody/reel/audio/12345/'],
    ['a later entry of a post', 'https://www.instagram.com/p/CWabc_-123/?img_index=3'],
    ['the stories', 'https://www.instagram.com/stories/somebody/'],
    ['a list of videos', 'https://www.facebook.com/pg/some.page/videos/?ref=x'],
    ['a page or a person', 'https://www.facebook.com/some.page'],
    ['a group', 'https://www.facebook.com/groups/123/'],
    ['a list of videos', 'https://www.facebook.com/some.page/videos/'],
    ['a picture', 'https://www.facebook.com/photo/?fbid=123&set=a.1'],
    ['a user', 'https://x.com/somebody'],
    ['a list of posts', 'https://x.com/search?q=words'],
    ['a user', 'https://vimeo.com/somebody'],
    ['a collection', 'https://vimeo.com/showcase/123'],
    ['a list of films', 'https://vimeo.com/ondemand/discover'],
    ['a user', 'https://vimeo.com/user12345/about'],
    ['a user', 'https://vimeo.com/user12345/collections/all'],
    ['a playlist', 'https://www.dailymotion.com/playlist/x1abc'],
    ['a user', 'https://www.dailymotion.com/somebody'],
    ['a live channel', 'https://www.twitch.tv/somebody'],
    ['a list of videos', 'https://www.twitch.tv/somebody/videos?filter=archives'],
    ['a collection', 'https://www.twitch.tv/collections/abc'],
    ['a page about clips', 'https://clips.twitch.tv/dashboard'],
    ['a page about clips', 'https://www.twitch.tv/somebody/clip/settings'],
    ['a gallery', 'https://www.reddit.com/gallery/abc123'],
    ['a community', 'https://www.reddit.com/r/some_where/'],
    ['a user', 'https://www.reddit.com/user/somebody/'],
    ['a playlist', 'https://soundcloud.com/somebody/sets/words'],
    ['a user', 'https://soundcloud.com/somebody'],
    ['a list of tracks', 'https://soundcloud.com/somebody/likes'],
    ['a page about SoundCloud', 'https://soundcloud.com/pages/privacy'],
    ['a page about SoundCloud', 'https://soundcloud.com/terms-of-use'],
    ['a series', 'https://www.bilibili.com/bangumi/play/ss123'],
    ['a live channel', 'https://live.bilibili.com/123'],
    ['a user', 'https://space.bilibili.com/123'],
    ['a board', 'https://www.pinterest.com/somebody/words/'],
    ['a blog', 'https://somebody.tumblr.com/'],
    ['a list of posts', 'https://www.tumblr.com/tagged/123'],
    ['a page of Tumblr itself', 'https://www.tumblr.com/reblog/54196191430/abcd'],
    ['a page of Tumblr itself', 'https://www.tumblr.com/settings/123'],
    ['a page of Tumblr itself', 'https://assets.tumblr.com/post/123'],
    ['a page of Tumblr itself', 'https://www.tumblr.com/assets/123'],
    ['a user', 'https://bsky.app/profile/somebody.bsky.social'],
    ['a channel', 'https://rutube.ru/channel/123/'],
    ['a playlist', 'https://vk.com/video/playlist/-12_3'],
    ['a post on a wall', 'https://vk.com/wall-12_34'],
    ['a group or a person', 'https://ok.ru/group/123'],
    ['a folder', `https://www.loom.com/share/folder/${hex32}`],
    ['a user', 'https://www.snapchat.com/add/somebody'],
    ['an album', 'https://some-artist.bandcamp.com/album/words'],
    ['an artist', 'https://some-artist.bandcamp.com/'],
    ['a channel', 'https://rumble.com/c/somebody'],
    ['a list of videos', 'https://rumble.com/videos.html'],
    ['a list of videos', 'https://rumble.com/videos-of-somebody'],
    ['a list of videos', 'https://rumble.com/viral'],
    ['a Short', 'https://rumble.com/shorts/v6abcde'],
    ['a page about Streamable', 'https://streamable.com/tos'],
    ['a page about Streamable', 'https://streamable.com/e/login'],
    ['a page about Streamable', 'https://streamable.com/s/privacy/abcde'],
  ])('%s: %s', (words, address) => {
    const result = parseVideoUrl(address);
    expect(result).toMatchObject({ ok: false, refusal: 'unsupported_platform' });
    expect(result).toHaveProperty('explanation', expect.stringContaining(`is that of ${words}`));
  });

  it.each([
    'https://www.tumblr.com/at/123',
    'https://www.tumblr.com/blog/view/www/123',
    'https://www.tumblr.com/Www/123',
    'https://www.reddit.com/over18',
    'https://www.reddit.com/settings',
    'https://at.tumblr.com/post/123',
  ])('a page whose name stands where an id or a user would: %s', (address) => {
    expect(parseVideoUrl(address)).toMatchObject({ ok: false, refusal: 'unsupported_platform' });
  });

  it.each([
    'https://www.tiktok.com/@somebody/video/70000000000000000010000000',
    'https://www.tiktok.com/@somebody/video/%37000000000000000001',
    'https://www.tiktok.com/@some%62ody/video/7000000000000000001',
    'https://vimeo.com/1234567890123456',
    'https://www.dailymotion.com/video/x%38abcde',
    'https://vk.com/video-12%5F34',
    'https://streamable.com/abcdefghijklmnopq',
    'https://www.facebook.com/watch/?v=%31%32345',
    `https://soundcloud.com/somebody/${'a'.repeat(200)}`,
  ])('an id that is too long, or in escapes: %s', (address) => {
    expect(parseVideoUrl(address)).toMatchObject({ ok: false, refusal: 'unsupported_platform' });
  });

  it.each([
    'https://tiktok.com.example.com/@somebody/video/7000000000000000001',
    'https://tiktok-com.example/@somebody/video/7000000000000000001',
    'https://www.fxtwitter.com/somebody/status/1234567890',
    'https://vxtwitter.com/somebody/status/1234567890',
    'https://xx.com/somebody/status/1234567890',
    'https://ddinstagram.com/reel/CWabc_-123/',
    'https://invidious.example/watch?v=dQw4w9WgXcQ',
    'https://yewtu.be/dQw4w9WgXcQ',
    'https://facebook.com.evil.example/watch?v=12345',
    'https://www.dailymotion.de/video/x8abcde',
    'https://evilfacebook.com/watch?v=12345',
    'https://some.artist.bandcamp.com/track/a-track',
    'https://com/watch?v=12345',
    'https://pinterest.example/pin/123456789/',
    'https://a.b.facebook.com/watch?v=12345',
  ])('a host of somebody else: %s', (address) => {
    expect(parseVideoUrl(address)).toMatchObject({ explanation: 'No supported platform has this host name.' });
  });
});
