import type { Platform } from './platform-row.ts';

/** Hosts of its app's share button, which uses several. */
const bilibiliShort = ['b23.tv', 'www.b23.tv', 'bili22.cn', 'bili23.cn', 'bili33.cn', 'bili2233.cn'];
const bilibiliPlayers = ['player.bilibili.com', 'www.bilibili.com', 'm.bilibili.com'];
const bilibiliPlayer = '/[blackboard/](player|html5player|html5mobileplayer|newplayer).html';
const bilibiliAbroad = ['bilibili.tv', 'www.bilibili.tv', 'biliintl.com', 'www.biliintl.com'];

export const bilibili: Platform = {
  name: 'bilibili',
  title: 'Bilibili',
  hosts: ['bilibili.com', 'www.bilibili.com', 'm.bilibili.com'],
  pieces: {
    id: /(?:BV|bv)[\da-zA-Z]{10}|(?:av|AV)\d{1,20}/,
    number: /\d{1,20}/,
    /** Number of a part in a video of several; the first part has none. */
    part: /[2-9]|[1-9]\d{1,3}/,
    season: /\d{1,20}/,
    language: /[a-zA-Z]{2}/,
    short: /[\da-zA-Z]{4,16}/,
  },
  addresses: [
    {
      item: 'https://www.bilibili.com/video/{id}[?p={part}]',
      extractor: 'BiliBili,BiliBiliBangumi',
      at: [
        '/[[s/]video/]{id}#page={part}',
        '/[[s/]video/]{id}?[p={part}]',
        '/(list|medialist/play)/{_}/{id}?[p={part}]',
        '/(festival|list|medialist/play)/{_}?bvid={id}&[p={part}]',
      ],
    },
    {
      item: 'https://www.bilibili.com/video/{id}[?p={part}]',
      extractor: 'BiliBili,BiliBiliBangumi',
      hosts: bilibiliPlayers,
      // A part is `page` where the address is of the years before `p`.
      at: [`${bilibiliPlayer}?bvid={id}&page={part}`, `${bilibiliPlayer}?bvid={id}&[p={part}]`],
    },
    {
      item: 'https://www.bilibili.com/video/{id}[?p={part}]',
      extractor: 'BiliBili,BiliBiliBangumi',
      hosts: bilibiliShort,
      at: ['/{id}?[p={part}]'],
    },
    {
      item: 'https://www.bilibili.com/video/av{number}[?p={part}]',
      id: 'av{number}',
      extractor: 'BiliBili,BiliBiliBangumi',
      hosts: bilibiliPlayers,
      at: [`${bilibiliPlayer}?aid={number}&page={part}`, `${bilibiliPlayer}?aid={number}&[p={part}]`],
    },
    {
      item: 'https://www.bilibili.com/bangumi/play/ep{number}',
      id: '{number}',
      extractor: 'BiliBiliBangumi',
      at: ['/bangumi/play/ep{number}'],
    },
    {
      item: 'https://www.bilibili.com/cheese/play/ep{number}',
      id: '{number}',
      extractor: 'BilibiliCheese',
      at: ['/cheese/play/ep{number}'],
    },
    {
      item: 'https://www.bilibili.com/audio/au{number}',
      id: '{number}',
      extractor: 'BilibiliAudio',
      kind: 'sound',
      at: ['/audio/au{number}'],
    },
    {
      item: 'https://t.bilibili.com/{number}',
      id: '{number}',
      extractor: 'BiliBiliDynamic,BiliBili,BiliBiliBangumi',
      at: ['/(opus|dynamic)/{number}'],
    },
    {
      item: 'https://t.bilibili.com/{number}',
      id: '{number}',
      extractor: 'BiliBiliDynamic,BiliBili,BiliBiliBangumi',
      hosts: ['t.bilibili.com'],
      at: ['/{number}'],
    },
    {
      item: 'https://www.bilibili.tv/en/video/{number}',
      id: '{number}',
      extractor: 'BiliIntl',
      hosts: bilibiliAbroad,
      at: ['/[{language}/]video/{number}'],
    },
    {
      item: 'https://www.bilibili.tv/en/play/{season}/{number}',
      id: '{number}',
      extractor: 'BiliIntl',
      hosts: bilibiliAbroad,
      at: ['/[{language}/]play/{season}/{number}'],
    },
    {
      wraps: 'an address',
      hosts: ['passport.bilibili.com'],
      at: ['/*?gourl={address}', '/*?goUrl={address}', '/*?from_url={address}'],
    },
    { lookUp: 'https://b23.tv/{short}', hosts: bilibiliShort, at: ['/{short}'] },
    { lookUp: 'https://bili.im/{short}', hosts: ['bili.im'], at: ['/{short}'] },
    { is: 'a series', at: ['/(bangumi|cheese)/*'] },
    { is: 'a series', hosts: bilibiliAbroad, at: ['/[{language}/](play|media)/{season}'] },
    { is: 'a live channel', hosts: ['live.bilibili.com'], at: ['/*'] },
    { is: 'a user', hosts: ['space.bilibili.com'], at: ['/*'] },
    { is: 'an album', at: ['/audio/am*'] },
    { is: 'a list of videos', at: ['/(list|medialist|watchlater|v|search|festival)[/*]'] },
  ],
};

export const rutube: Platform = {
  name: 'rutube',
  title: 'Rutube',
  hosts: ['rutube.ru', 'www.rutube.ru', 'm.rutube.ru'],
  pieces: { id: /[\da-z]{32}/, number: /\d{1,15}/, key: /[\w-]{4,64}/ },
  addresses: [
    {
      item: 'https://rutube.ru/video/private/{id}/[?p={key}]',
      extractor: 'rutube',
      at: ['/[live/]video/private/{id}?[p={key}]', '/([live/]video|[play/]embed|shorts)/{id}?p={key}'],
    },
    {
      item: 'https://rutube.ru/video/{id}/',
      extractor: 'rutube',
      at: ['/([live/]video|[play/]embed|shorts)/{id}'],
    },
    {
      item: 'https://rutube.ru/play/embed/{number}[?p={key}]',
      id: '{number}',
      extractor: 'rutube:embed,rutube',
      at: ['/(video|play)/embed/{number}?[p={key}]'],
    },
    { wraps: 'an address', at: ['/(login|auth|multipass/login)[/*]?next={address}'] },
    { is: 'a playlist', at: ['/plst/*'] },
    { is: 'a channel', at: ['/(channel|u|video/person)/*'] },
    { is: 'a series', at: ['/metainfo/*'] },
    { is: 'a list of videos', at: ['/(tags|feeds|search|categories)[/*]'] },
  ],
};

export const vk: Platform = {
  name: 'vk',
  title: 'VK',
  hosts: [
    ...['vk.com', 'www.vk.com', 'm.vk.com', 'new.vk.com', 'vk.ru', 'www.vk.ru', 'm.vk.ru', 'new.vk.ru'],
    ...['vkvideo.ru', 'www.vkvideo.ru', 'm.vkvideo.ru', 'new.vkvideo.ru', 'vksport.vkvideo.ru'],
  ],
  pieces: {
    id: /-?\d{1,15}_\d{1,15}/,
    owner: /-?\d{1,15}/,
    number: /\d{1,15}/,
    /** Each of these opens what only those may see who were given its address. */
    list: /[\da-f]{10,64}|ln-[\da-zA-Z]{4,64}/,
    hash: /[\da-f]{4,64}/,
    channel: /[\w.-]{1,64}/,
    record: /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/,
  },
  addresses: [
    {
      item: 'https://vk.com/video{id}[?list={list}]',
      extractor: 'vk',
      at: [
        '/(video|clip){id}?[list={list}]',
        '/*?z=(video|clip){id}(/|%2F|%2f){list}[(/|%2F|%2f)*]',
        '/*?z=(video|clip){id}&[list={list}]',
        '/playlist/{_}/video{id}',
      ],
    },
    {
      item: 'https://vk.com/video_ext.php?oid={owner}&id={number}&hash={hash}',
      id: '{owner}_{number}',
      extractor: 'vk',
      at: ['/video_ext.php?oid={owner}&id={number}&hash={hash}'],
    },
    {
      item: 'https://vk.com/video{owner}_{number}',
      id: '{owner}_{number}',
      extractor: 'vk',
      at: ['/video_ext.php?oid={owner}&id={number}'],
    },
    {
      item: 'https://live.vkvideo.ru/{channel}/record/{record}',
      id: '{record}',
      extractor: 'VKPlay',
      hosts: ['live.vkvideo.ru', 'live.vkplay.ru', 'vkplay.live'],
      at: ['/{channel}/record/{record}[/*]'],
    },
    { is: 'a live channel', hosts: ['live.vkvideo.ru', 'live.vkplay.ru', 'vkplay.live'], at: ['/{channel}'] },
    { wraps: 'an address', at: ['/(away|login|away.php)?to={address}', '/login?u={address}'] },
    {
      wraps: 'an address',
      hosts: ['login.vk.com', 'id.vk.com', 'login.vk.ru', 'id.vk.ru'],
      at: ['/*?to={address}', '/*?redirect_uri={address}'],
    },
    { is: 'a playlist', at: ['/[video/]playlist/*'] },
    { is: 'a post on a wall', at: ['/wall{_}', '/{_}?w={_}'] },
    { is: 'the videos of a user or a group', at: ['/video/@*', '/@*', '/(videos|clips){owner}'] },
  ],
};

export const odnoklassniki: Platform = {
  name: 'ok',
  title: 'OK (Odnoklassniki)',
  hosts: ['ok.ru', '*.ok.ru', 'odnoklassniki.ru', '*.odnoklassniki.ru'],
  pieces: { id: /\d{1,20}(?:-\d{1,6})?/ },
  addresses: [
    {
      item: 'https://ok.ru/video/{id}',
      extractor: 'Odnoklassniki',
      at: ['/(video|videoembed|live|web-api/video/moviePlayer)/{id}', '/dk?st.mvId={id}'],
    },
    {
      wraps: 'an address',
      at: ['/dk?st.redirect={address}', '/(dk|login)?st.link={address}', '/login?redirect={address}'],
    },
    { is: 'a list of videos', at: ['/video[/*]', '/(group|profile)/{_}/video[/*]'] },
    { is: 'a group or a person', at: ['/(group|profile)/*'] },
  ],
};
