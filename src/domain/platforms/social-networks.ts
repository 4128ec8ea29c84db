import type { Platform } from './platform-row.ts';

export const tiktok: Platform = {
  name: 'tiktok',
  title: 'TikTok',
  hosts: ['tiktok.com', 'www.tiktok.com', 'm.tiktok.com', 'tiktokv.com', '*.tiktokv.com'],
  pieces: { id: /\d{1,25}/, user: /[\w.-]{0,100}/, short: /\w{4,20}/ },
  addresses: [
    {
      item: 'https://www.tiktok.com/@{user}/video/{id}',
      extractor: 'TikTok',
      at: ['/(@|%40){user}/video/{id}[/*]'],
    },
    {
      item: 'https://www.tiktok.com/@_/video/{id}',
      extractor: 'TikTok',
      at: ['/(embed|embed/v2|embed/v3|share/video|player/v1)/{id}', '/v/{id}.html'],
    },
    {
      item: 'https://www.tiktok.com/@{user}/photo/{id}',
      extractor: 'tiktok:photo',
      kind: 'images',
      at: ['/(@|%40){user}/photo/{id}[/*]'],
    },
    { lookUp: 'https://www.tiktok.com/t/{short}/', at: ['/t/{short}'] },
    { lookUp: 'https://vm.tiktok.com/{short}/', hosts: ['vm.tiktok.com'], at: ['/{short}'] },
    { lookUp: 'https://lite.tiktok.com/t/{short}/', hosts: ['lite.tiktok.com'], at: ['/t/{short}'] },
    { lookUp: 'https://vt.tiktok.com/{short}/', hosts: ['vt.tiktok.com'], at: ['/{short}'] },
    { wraps: 'an address', at: ['/login[/*]?redirect_url={address}', '/signup[/*]?redirect_url={address}'] },
    { is: 'a live stream', at: ['/@{user}/live', '/share/live/*'] },
    { is: 'a collection of videos', at: ['/@{user}/(collection|playlist)/*'] },
    { is: 'a list of videos', at: ['/(music|sticker|tag|search|discover|explore|foryou)[/*]'] },
    { is: 'a user', at: ['/[embed/]@{user}'] },
  ],
};

export const instagram: Platform = {
  name: 'instagram',
  title: 'Instagram',
  hosts: ['instagram.com', 'www.instagram.com', 'm.instagram.com', 'instagr.am', 'www.instagr.am'],
  pieces: {
    id: /[\w-]{4,64}/,
    user: /[\w.]{1,60}/,
    story: /\d{1,25}/,
    form: /(?:reel|p|tv)\//,
    /** Number of an item in a post with several pictures or videos. */
    later: /[2-9]|[1-9]\d{1,2}/,
    short: /[\w-]{4,64}/,
  },
  addresses: [
    { is: 'a collection of stories', at: ['/stories/highlights/*'] },
    { is: 'a list of videos', at: ['/(explore|reels/audio|reel/audio)[/*]', '/(reels|reel)'] },
    {
      item: 'https://www.instagram.com/stories/{user}/{story}/',
      id: '{story}',
      extractor: 'instagram:story',
      at: ['/stories/{user}/{story}'],
    },
    { is: 'the stories of a user', at: ['/stories/*'] },
    {
      wraps: 'an address',
      at: ['/accounts/(login|signup|emailsignup|onetap)[/*]?next={address}', '/(challenge|consent)[/*]?next={address}'],
    },
    { wraps: 'an address', hosts: ['l.instagram.com'], at: ['/?u={address}'] },
    {
      is: 'a later entry of a post, of which only the first is delivered (without img_index)',
      at: ['/[{user}/](p|tv|reel|reels)/{id}[/*]?img_index={later}'],
    },
    { lookUp: 'https://www.instagram.com/share/[{form}]{short}/', at: ['/share/[{form}]{short}'] },
    {
      item: 'https://www.instagram.com/reel/{id}/',
      extractor: 'Instagram',
      at: ['/[{user}/](reel|reels)/{id}[/*]'],
    },
    { item: 'https://www.instagram.com/p/{id}/', extractor: 'Instagram', at: ['/[{user}/](p|tv)/{id}[/*]'] },
    { is: 'a user', at: ['/{user}[/reels|/tagged|/channel]'] },
  ],
};

/** Videos, and posts and events that show one. An item's number is read by `watch` whatever page it was found on. */
export const facebook: Platform = {
  name: 'facebook',
  title: 'Facebook',
  hosts: [
    ...['facebook.com', '*.facebook.com', 'fb.com', 'www.fb.com'],
    ...['facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion'],
    ...['*.facebookwkhpilnemxj7asaniu7vnjjbiltxjqhye3mhbshg7kx5tfyd.onion'],
  ],
  pagesBehindHash: true,
  pieces: {
    id: /\d{1,25}/,
    post: /pfbid[\da-zA-Z]{1,100}|\d{1,25}/,
    page: /[\w.-]{1,100}/,
    group: /[\w.-]{1,100}/,
    owner: /\d{1,25}/,
    form: /[vrp]\//,
    short: /[\w-]{4,40}/,
  },
  addresses: [
    {
      item: 'https://www.facebook.com/watch/?v={id}',
      extractor: 'facebook',
      at: [
        '/(watch|watch/live|video.php|video/video.php|photo.php|video/embed)?v={id}',
        '/video/embed?video_id={id}',
        '/[pg/]{_}/videos/[{_}/]{id}',
        '/(reel|watchparty|video|videos)/{id}',
        '/watch/{page}/{id}',
      ],
    },
    { wraps: 'an address', at: ['/plugins/(video|post).php?href={address}', '/login[.php]?next={address}'] },
    {
      wraps: 'an address',
      at: [
        '/login/(device-based/regular/login|reauth.php|identify)[/*]?next={address}',
        '/(checkpoint|cookie/consent|privacy/consent|consent)[/*]?next={address}',
        '/(l|flx/warn)[.php]?u={address}',
      ],
    },
    {
      item: 'https://www.facebook.com/{page}/posts/{post}',
      id: '{post}',
      extractor: 'facebook',
      at: ['/[pg/]{page}/posts/[{_}/]{post}'],
    },
    {
      // A name in other letters ends with the number of its page, which stands for it too.
      item: 'https://www.facebook.com/{owner}/posts/{post}',
      id: '{post}',
      extractor: 'facebook',
      at: ['/[pg/]{_}-{owner}/posts/[{_}/]{post}'],
    },
    {
      item: 'https://www.facebook.com/groups/{group}/posts/{post}/',
      id: '{post}',
      extractor: 'facebook',
      at: ['/groups/{group}/(permalink|posts)/[{_}/]{post}', '/groups/{group}?multi_permalinks={post}'],
    },
    { item: 'https://www.facebook.com/events/{id}', extractor: 'facebook', at: ['/events/[{_}/]{id}'] },
    {
      item: 'https://www.facebook.com/story.php?story_fbid={post}[&id={owner}]',
      id: '{post}',
      extractor: 'facebook',
      at: ['/(story|permalink).php?story_fbid={post}&[id={owner}]'],
    },
    { item: 'https://www.facebook.com/ads/library/?id={id}', extractor: 'facebook:ads', at: ['/ads/library?id={id}'] },
    { lookUp: 'https://www.facebook.com/share/[{form}]{short}/', at: ['/share/[{form}]{short}'] },
    { lookUp: 'https://fb.watch/{short}/', hosts: ['fb.watch', 'www.fb.watch'], at: ['/[v/]{short}'] },
    { lookUp: 'https://fb.gg/v/{short}/', hosts: ['fb.gg'], at: ['/v/{short}'] },
    { is: 'a picture', at: ['/(photo|photo.php)?fbid={_}', '/{_}/photos/*'] },
    {
      is: 'a list of videos',
      at: ['/watch[/*]', '/(reel|reels|hashtag|gaming)[/*]', '/[pg/]{_}/(videos|reels|live)[/*]'],
    },
    { is: 'a group', at: ['/groups/*'] },
    { is: 'a page or a person', at: ['/profile.php', '/{page}'] },
  ],
};

export const twitter: Platform = {
  name: 'twitter',
  title: 'Twitter (X)',
  hosts: [
    ...['twitter.com', 'www.twitter.com', 'm.twitter.com', 'mobile.twitter.com'],
    ...['x.com', 'www.x.com', 'm.x.com', 'mobile.x.com'],
    ...['twitter3e4tixl4xyajtrzo62zg5vztmjuricljdp2c5kshju4avyoid.onion'],
  ],
  pagesBehindHash: true,
  pieces: {
    id: /\d{1,25}/,
    broadcast: /\w{4,40}/,
    space: /[\da-zA-Z]{13}/,
    /** Number of a video in a post with several. */
    index: /[2-9]/,
    amplified: /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/,
    short: /[\da-zA-Z]{4,20}/,
  },
  addresses: [
    {
      item: 'https://x.com/i/status/{id}[/video/{index}]',
      extractor: 'twitter,twitter:broadcast,twitter:spaces',
      at: [
        '/{_}/(status|statuses)/{id}/(video|photo)/{index}',
        '/{_}/(status|statuses)/{id}[/*]',
        '/i/web/status/{id}[/*]',
        '/statuses/{id}',
        '/i/(cards/tfw/v1|videos|videos/tweet)/{id}',
      ],
    },
    {
      item: 'https://x.com/i/status/{id}',
      extractor: 'twitter,twitter:broadcast,twitter:spaces',
      hosts: ['platform.twitter.com', 'platform.x.com'],
      at: ['/embed/(Tweet|Post).html?id={id}'],
    },
    {
      item: 'https://x.com/i/spaces/{space}',
      id: '{space}',
      extractor: 'twitter:spaces',
      kind: 'sound',
      at: ['/i/spaces/{space}[/peek]'],
    },
    {
      item: 'https://x.com/i/broadcasts/{broadcast}',
      id: '{broadcast}',
      extractor: 'twitter:broadcast',
      at: ['/i/broadcasts/{broadcast}'],
    },
    {
      item: 'https://x.com/i/events/{broadcast}',
      id: '{broadcast}',
      extractor: 'twitter:broadcast',
      at: ['/i/events/{broadcast}'],
    },
    {
      item: 'https://amp.twimg.com/v/{amplified}',
      id: '{amplified}',
      extractor: 'twitter:amplify',
      hosts: ['amp.twimg.com'],
      at: ['/v/{amplified}'],
    },
    {
      wraps: 'an address',
      at: ['/(login|i/flow/login|i/flow/signup|account/access)?redirect_after_login={address}'],
    },
    { lookUp: 'https://t.co/{short}', hosts: ['t.co'], at: ['/{short}'] },
    { lookUp: 'https://pic.twitter.com/{short}', hosts: ['pic.twitter.com'], at: ['/{short}'] },
    { lookUp: 'https://pic.x.com/{short}', hosts: ['pic.x.com'], at: ['/{short}'] },
    { is: 'a list of posts', at: ['/(i|search|explore|home|hashtag)[/*]'] },
    { is: 'a user', at: ['/{_}[/media|/with_replies|/likes]'] },
  ],
};

export const bluesky: Platform = {
  name: 'bluesky',
  title: 'Bluesky',
  hosts: ['bsky.app', 'www.bsky.app'],
  pieces: { id: /\w{1,64}/, handle: /[\w.:-]{1,253}/, method: /plc|web/, did: /[\w.-]{1,240}/ },
  addresses: [
    {
      item: 'https://bsky.app/profile/{handle}/post/{id}',
      extractor: 'Bluesky',
      at: ['/profile/{handle}/post/{id}[/*]'],
    },
    {
      item: 'https://bsky.app/profile/did:{method}:{did}/post/{id}',
      extractor: 'Bluesky',
      at: ['/profile/did(:|%3A|%3a){method}(:|%3A|%3a){did}/post/{id}[/*]'],
    },
    {
      item: 'https://bsky.app/profile/did:{method}:{did}/post/{id}',
      extractor: 'Bluesky',
      hosts: ['embed.bsky.app'],
      at: ['/embed/did(:|%3A|%3a){method}(:|%3A|%3a){did}/app.bsky.feed.post/{id}'],
    },
    { is: 'a feed or a list', at: ['/profile/{_}/(feed|lists)/*', '/(search|hashtag|starter-pack)[/*]'] },
    { is: 'a user', at: ['/profile/{_}'] },
  ],
};

export const snapchat: Platform = {
  name: 'snapchat',
  title: 'Snapchat',
  hosts: ['snapchat.com', 'www.snapchat.com'],
  pieces: { id: /\w{4,100}/, short: /\w{4,40}/ },
  addresses: [
    {
      item: 'https://www.snapchat.com/spotlight/{id}',
      extractor: 'SnapchatSpotlight',
      at: ['/[@{_}/]spotlight/{id}'],
    },
    {
      wraps: 'an address',
      hosts: ['snapchat.com', 'www.snapchat.com', 'accounts.snapchat.com'],
      at: ['/(accounts|v2)/(login|welcome)?continue={address}', '/(login|accounts/login)?referrer={address}'],
    },
    { lookUp: 'https://www.snapchat.com/t/{short}', at: ['/t/{short}'] },
    { lookUp: 'https://t.snapchat.com/{short}', hosts: ['t.snapchat.com'], at: ['/{short}'] },
    { is: 'a user', at: ['/(add|discover|p)/*', '/@{_}'] },
    { is: 'a list of videos', at: ['/spotlight'] },
  ],
};
