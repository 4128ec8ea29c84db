import type { Platform } from './platform-row.ts';

export const soundcloud: Platform = {
  name: 'soundcloud',
  title: 'SoundCloud',
  hosts: ['soundcloud.com', 'www.soundcloud.com', 'm.soundcloud.com'],
  pieces: {
    user: /[\w-]{1,100}/,
    track: /[\w-]{1,150}/,
    /** Secret in the address of an unlisted track. */
    secret: /s-[\da-zA-Z]{2,40}/,
    id: /\d{1,20}/,
    short: /\w{4,40}/,
  },
  addresses: [
    {
      wraps: 'an address',
      at: ['/(signin|login|connect)[/*]?return_to={address}', '/signin[/*]?redirect_url={address}'],
    },
    { is: 'a playlist', at: ['/{_}/sets/*', '/discover/sets/*'] },
    {
      is: 'a page about SoundCloud',
      at: [
        '/(pages|settings|messages|notifications|upload|jobs|imprint|oembed|terms-of-use|community-guidelines)[/*]',
        '/(login|signin|logout|connect|checkout)[/*]',
      ],
    },
    { is: 'a list of tracks', at: ['/(discover|charts|search|stations|you|stream|tags|feed|people)[/*]'] },
    { is: 'a list of tracks', at: ['/{_}/(tracks|popular-tracks|toptracks|albums|sets|reposts|likes|spotlight)'] },
    { is: 'a list of people or comments', at: ['/{_}/(comments|followers|following)'] },
    { is: 'a list around a track', at: ['/{_}/{_}/(albums|sets|recommended|likes|reposts|comments)[/*]'] },
    {
      item: 'https://soundcloud.com/{user}/{track}[/{secret}]',
      id: '{user}/{track}',
      extractor: 'soundcloud',
      kind: 'sound',
      at: ['/{user}/{track}/{secret}', '/{user}/{track}?[secret_token={secret}]'],
    },
    {
      item: 'https://api.soundcloud.com/tracks/{id}[?secret_token={secret}]',
      extractor: 'soundcloud',
      kind: 'sound',
      hosts: ['api.soundcloud.com', 'api-v2.soundcloud.com'],
      at: ['/tracks/[soundcloud(:|%3A)tracks(:|%3A)]{id}?[secret_token={secret}]'],
    },
    {
      wraps: 'an address',
      hosts: ['w.soundcloud.com', 'player.soundcloud.com', 'p.soundcloud.com'],
      at: ['/player?url={address}&[secret_token={secret}]'],
    },
    { lookUp: 'https://on.soundcloud.com/{short}', hosts: ['on.soundcloud.com'], at: ['/{short}'] },
    { is: 'a user', at: ['/{user}'] },
  ],
};

export const bandcamp: Platform = {
  name: 'bandcamp',
  title: 'Bandcamp',
  hosts: ['{artist}.bandcamp.com'],
  pieces: { id: /[\w-]{1,200}/, artist: /[\da-zA-Z-]{1,63}/, show: /\d{1,10}/ },
  addresses: [
    { item: 'https://{artist}.bandcamp.com/track/{id}', extractor: 'Bandcamp', kind: 'sound', at: ['/track/{id}'] },
    {
      item: 'https://bandcamp.com/radio?show={show}',
      id: '{show}',
      extractor: 'Bandcamp:weekly',
      kind: 'sound',
      hosts: ['bandcamp.com', 'www.bandcamp.com'],
      at: ['/radio?show={show}', '/?show={show}'],
    },
    {
      wraps: 'an address',
      hosts: ['bandcamp.com', 'www.bandcamp.com'],
      at: ['/(login|signup)?from={address}', '/(login|signup)?redirect={address}'],
    },
    { is: 'an album', at: ['/album/*'] },
    { is: 'an artist', at: ['/[music]'] },
  ],
};
