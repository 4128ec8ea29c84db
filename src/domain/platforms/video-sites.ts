import type { Platform } from './platform-row.ts';

/** Read off yt-dlp's extractor and the forms that YouTube itself has handed out over the years. */
export const youtube: Platform = {
  name: 'youtube',
  title: 'YouTube',
  hosts: [
    ...['youtube.com', '*.youtube.com', 'youtube-nocookie.com', '*.youtube-nocookie.com'],
    ...['youtubekids.com', '*.youtubekids.com', 'www.youtubeeducation.com', 'youtube.googleapis.com'],
    ...['youtu.be', 'www.youtu.be', 'm.youtu.be'],
  ],
  ignoresCase: true,
  pagesBehindHash: true,
  pieces: { id: /[\w-]{11}/ },
  addresses: [
    { is: 'a playlist', at: ['/(playlist|watch_videos|p/|view_play_list|browse/|embed/videoseries)*'] },
    { is: 'a channel', at: ['/(@|channel/|c/|embed/live_stream)*'] },
    { is: 'a clip, which does not name its video', at: ['/clip/*'] },
    { is: 'a list of videos', at: ['/(results|feed|hashtag)[/*]'] },
    {
      item: 'https://www.youtube.com/watch?v={id}',
      extractor: 'youtube',
      at: [
        '/[(watch|movie)[_popup][.php]|ytscreeningroom|details]?v={id}',
        '/[(watch|movie)[_popup][.php]|ytscreeningroom|details]?vi={id}',
        '/(v|e|embed|shorts|live|watch)/{id}[(&|/|%3F|%26)*]',
        // Only as the last part: /vi/ID/0.jpg is a preview image.
        '/vi/{id}',
        '/(watch|tv)/video/control?v={id}',
        '#p/{_}/{_}/{id}',
        '#p/{_}/{_}/{_}/{id}',
      ],
    },
    {
      wraps: 'an address',
      at: [
        '/attribution_link?u={address}',
        '/verify_age?next_url={address}',
        '/oembed?url={address}',
        '/signin?next={address}',
        '/(m|ml|d|dl|save)?continue={address}',
      ],
    },
    {
      wraps: 'an address',
      hosts: ['accounts.google.com', 'consent.google.com'],
      at: ['/*?continue={address}', '/*?followup={address}'],
    },
    {
      item: 'https://www.youtube.com/watch?v={id}',
      extractor: 'youtube',
      hosts: ['youtu.be', 'www.youtu.be', 'm.youtu.be'],
      at: ['/{id}[(&|/|%3F|%26)*]'],
    },
    { is: 'a channel', at: ['/user/*'] },
    { is: 'a playlist', at: ['/*?list={_}'] },
  ],
};

export const vimeo: Platform = {
  name: 'vimeo',
  title: 'Vimeo',
  hosts: ['vimeo.com', 'www.vimeo.com', 'player.vimeo.com'],
  pieces: {
    id: /\d{1,15}/,
    hash: /[\da-f]{10}/,
    name: /[\w-]{1,100}/,
    film: /[\w-]{1,100}/,
    recording: /\d{1,15}/,
    user: /user\d{1,15}/,
  },
  addresses: [
    {
      item: 'https://vimeo.com/{name}/review/{id}/{hash}',
      extractor: 'vimeo:review,vimeo',
      at: ['/{name}/review/{id}/{hash}'],
    },
    { is: 'a list of films', at: ['/ondemand[/(discover|startselling)[/*]]'] },
    {
      item: 'https://vimeo.com/ondemand/{name}/{id}',
      extractor: 'vimeo:ondemand,vimeo',
      at: ['/ondemand/{name}/{id}'],
    },
    {
      item: 'https://vimeo.com/ondemand/{film}',
      id: '{film}',
      extractor: 'vimeo:ondemand,vimeo',
      at: ['/ondemand/{film}'],
    },
    {
      item: 'https://vimeo.com/event/{id}/videos/{recording}',
      id: '{recording}',
      extractor: 'vimeo:event,vimeo',
      at: ['/event/{id}/videos/{recording}'],
    },
    {
      item: 'https://vimeo.com/event/{id}[/{hash}]',
      extractor: 'vimeo:event,vimeo',
      at: ['/event/{id}/[embed/]{hash}', '/event/{id}[/embed[/*]]'],
    },
    {
      item: 'https://vimeo.com/{id}[/{hash}]',
      extractor: 'vimeo',
      at: [
        '/[videos/|video/|manage/videos/]{id}/{hash}',
        '/[videos/|video/|manage/videos/]{id}?[h={hash}]',
        '/(channels|album|showcase|groups)/{_}/[videos/|video/]{id}/{hash}',
        '/(channels|album|showcase|groups)/{_}/[videos/|video/]{id}?[h={hash}]',
        '/(moogaloop.swf|play_redirect_hls)?clip_id={id}',
      ],
    },
    {
      item: 'https://vimeopro.com/{name}/{film}/video/{id}',
      extractor: 'vimeo:pro,vimeo',
      hosts: ['vimeopro.com', 'www.vimeopro.com'],
      at: ['/{name}/{film}/[videos/|video/]{id}'],
    },
    {
      item: 'https://embed.vhx.tv/videos/{id}',
      extractor: 'vhx:embed',
      hosts: ['embed.vhx.tv'],
      at: ['/videos/{id}'],
    },
    { wraps: 'an address', at: ['/(log_in|login|join|signup)?redirect={address}'] },
    { is: 'a collection of videos', at: ['/(channels|album|showcase|groups|categories)/*'] },
    { is: 'a list of videos', at: ['/(search|watch|watchlater|home)[/*]', '/{_}/(likes|videos)[/*]'] },
    {
      is: 'a user',
      at: ['/{user}/(about|albums|channels|collections|followers|following|groups|portfolios|showcases)[/*]'],
    },
    {
      item: 'https://vimeo.com/{user}/{film}',
      id: '{film}',
      extractor: 'vimeo',
      at: ['/{user}/{film}'],
    },
    { is: 'a user', at: ['/{name}'] },
  ],
};

/** Its own; `dailymotion.de`, say, is somebody else's. */
const dailymotionAbroad = ['fr', 'es', 'it', 'co.uk'].map((domain) => `dailymotion.${domain}`);

export const dailymotion: Platform = {
  name: 'dailymotion',
  title: 'Dailymotion',
  hosts: [
    ...['dailymotion.com', '*.dailymotion.com'],
    ...dailymotionAbroad,
    ...dailymotionAbroad.map((domain) => `www.${domain}`),
  ],
  pieces: { id: /[xk][\da-zA-Z]{2,29}/, country: /[a-z]{2}/ },
  addresses: [
    {
      item: 'https://www.dailymotion.com/video/{id}',
      extractor: 'dailymotion',
      at: [
        '/[crawler/|embed/|swf/|{country}/]video/{id}[(_|/)*]',
        '/swf/{id}[(_|/)*]',
        '/player.html?video={id}',
        '/player/{_}.html?video={id}',
      ],
    },
    {
      item: 'https://www.dailymotion.com/video/{id}',
      extractor: 'dailymotion',
      hosts: ['dai.ly', 'www.dai.ly'],
      at: ['/{id}'],
    },
    {
      wraps: 'an address',
      at: [
        '/[{country}/](signin|login|register)?urlback={address}',
        '/[{country}/](signin|login|register)?url={address}',
      ],
    },
    { is: 'a playlist', at: ['/playlist/*', '/player.html?playlist={_}', '/player/{_}.html?playlist={_}'] },
    { is: 'a list of videos', at: ['/(search|topic|hashtag)/*'] },
    { is: 'a user', at: ['/[user/]{_}'] },
  ],
};

export const twitch: Platform = {
  name: 'twitch',
  title: 'Twitch',
  hosts: ['twitch.tv', 'www.twitch.tv', 'm.twitch.tv', 'go.twitch.tv'],
  pieces: { id: /\d{1,15}/, clip: /[\w-]{8,120}/ },
  addresses: [
    {
      item: 'https://www.twitch.tv/videos/{id}',
      extractor: 'twitch:vod',
      at: ['/videos/[v]{id}', '/{_}/(v|video)/{id}', '/{_}/schedule?vodID={id}'],
    },
    {
      item: 'https://www.twitch.tv/videos/{id}',
      extractor: 'twitch:vod',
      hosts: ['player.twitch.tv'],
      at: ['/?video=[v]{id}'],
    },
    {
      item: 'https://clips.twitch.tv/{clip}',
      id: '{clip}',
      extractor: 'twitch:clips',
      at: ['/[{_}/]clip/{clip}'],
    },
    { is: 'a page about clips', hosts: ['clips.twitch.tv'], at: ['/(dashboard|settings|my-clips)'] },
    {
      item: 'https://clips.twitch.tv/{clip}',
      id: '{clip}',
      extractor: 'twitch:clips',
      hosts: ['clips.twitch.tv'],
      at: ['/embed?clip={clip}', '/[{_}/]{clip}'],
    },
    {
      wraps: 'an address',
      hosts: ['twitch.tv', 'www.twitch.tv', 'm.twitch.tv', 'passport.twitch.tv', 'id.twitch.tv'],
      at: ['/(login|signup)?redirect_uri={address}', '/(login|signup)?redirect={address}'],
    },
    { is: 'a live channel', hosts: ['player.twitch.tv'], at: ['/?channel={_}'] },
    { is: 'a collection of videos', at: ['/collections/*'] },
    { is: 'a list of videos', at: ['/{_}/(videos|clips|profile)[/*]', '/(directory|search)[/*]', '/videos/{_}'] },
    { is: 'a live channel', at: ['/{_}'] },
  ],
};

export const rumble: Platform = {
  name: 'rumble',
  title: 'Rumble',
  hosts: ['rumble.com', 'www.rumble.com'],
  pieces: { id: /[\da-z]{3,20}/, page: /v[\da-zA-Z]{2,20}/, slug: /[\w.-]{1,300}/ },
  addresses: [
    { is: 'a channel', at: ['/(c|user)/*'] },
    { wraps: 'an address', at: ['/(login.php|login|register|account/signin)?next={address}'] },
    {
      wraps: 'an address',
      hosts: ['auth.rumble.com'],
      at: ['/*?redirect_uri={address}', '/*?redirect={address}'],
    },
    {
      is: 'a list of videos',
      at: ['/videos*', '/(browse|search|category|editor-picks|playlists)[/*]', '/(viral|verified|view|vvip)'],
    },
    { is: 'a Short, which cannot be downloaded', at: ['/shorts[/*]'] },
    {
      item: 'https://rumble.com/embed/{id}',
      extractor: 'RumbleEmbed',
      at: ['/embed/[{_}.]{id}'],
    },
    {
      item: 'https://rumble.com/{page}[-{slug}]',
      id: '{page}',
      extractor: 'Rumble,RumbleEmbed',
      at: ['/{page}[-{slug}|.html]'],
    },
  ],
};

export const streamable: Platform = {
  name: 'streamable',
  title: 'Streamable',
  hosts: ['streamable.com', 'www.streamable.com'],
  pieces: { id: /[\da-zA-Z]{2,16}/ },
  addresses: [
    { wraps: 'an address', at: ['/(login|signup)?redirect={address}', '/(login|signup)?next={address}'] },
    {
      is: 'a page about Streamable',
      at: [
        '/(login|signup|reset|pricing|terms|tos|privacy|settings|documentation|library)[/*]',
        '/(about|blog|contact|help)[/*]',
      ],
    },
    { item: 'https://streamable.com/{id}', extractor: 'Streamable', at: ['/[(e|s|o)/]{id}', '/(e|s|o)/{id}/*'] },
  ],
};

export const loom: Platform = {
  name: 'loom',
  title: 'Loom',
  hosts: ['loom.com', 'www.loom.com'],
  pieces: { id: /[\da-f]{32}/, slug: /[\w-]{1,200}/ },
  addresses: [
    { is: 'a folder', at: ['/share/folder/*'] },
    { wraps: 'an address', at: ['/(login|signup)[/*]?redirect={address}', '/(login|signup)[/*]?next={address}'] },
    { item: 'https://www.loom.com/share/{id}', extractor: 'loom', at: ['/(share|embed)/[{slug}-]{id}'] },
  ],
};
