import type { Platform } from './platform-row.ts';

export const reddit: Platform = {
  name: 'reddit',
  title: 'Reddit',
  hosts: ['reddit.com', '*.reddit.com', 'redditmedia.com', '*.redditmedia.com'],
  pieces: {
    id: /[\da-zA-Z]{2,12}/,
    /** An id that is no word, as those of pages are. */
    bare: /[a-z]{0,4}\d[\da-z]{3,6}/,
    short: /[\w-]{4,40}/,
    form: /r|u|user/,
    community: /[\w-]{1,40}/,
  },
  addresses: [
    { is: 'a gallery of pictures', at: ['/gallery/{_}'] },
    {
      item: 'https://www.reddit.com/comments/{id}/',
      extractor: 'Reddit',
      at: ['/[(r|user|u)/{_}/]comments/{id}[/*]', '/tb/{id}', '/link/{id}/video/{_}/player'],
    },
    {
      item: 'https://www.reddit.com/comments/{id}/',
      extractor: 'Reddit',
      hosts: ['redd.it', 'www.redd.it'],
      at: ['/{id}'],
    },
    { item: 'https://www.reddit.com/comments/{bare}/', id: '{bare}', extractor: 'Reddit', at: ['/{bare}'] },
    { wraps: 'an address', at: ['/(over18|login|register|account/login|account/register)?dest={address}'] },
    { lookUp: 'https://v.redd.it/{short}', hosts: ['v.redd.it'], at: ['/{short}[/*]'] },
    { lookUp: 'https://www.reddit.com/video/{short}', at: ['/video/{short}'] },
    { lookUp: 'https://www.reddit.com/{form}/{community}/s/{short}', at: ['/{form}/{community}/s/{short}'] },
    { is: 'a community', at: ['/r/*'] },
    { is: 'a user', at: ['/(user|u)/*'] },
  ],
};

const pinterestDomains = [
  ...['com', 'fr', 'de', 'ch', 'jp', 'cl', 'ca', 'it', 'co.uk', 'nz', 'ru', 'com.au', 'at', 'pt', 'co.kr', 'es'],
  ...['com.mx', 'dk', 'ph', 'th', 'com.uy', 'co', 'nl', 'info', 'kr', 'ie', 'vn', 'com.vn', 'ec', 'mx', 'in', 'pe'],
  ...['co.at', 'hu', 'co.in', 'co.nz', 'id', 'com.ec', 'com.py', 'tw', 'be', 'uk', 'com.bo', 'com.pe', 'se'],
].map((domain) => `pinterest.${domain}`);

export const pinterest: Platform = {
  name: 'pinterest',
  title: 'Pinterest',
  hosts: [...pinterestDomains, ...pinterestDomains.map((domain) => `*.${domain}`)],
  pieces: { id: /\d{1,25}/, short: /\w{4,20}/ },
  addresses: [
    {
      item: 'https://www.pinterest.com/pin/{id}/',
      extractor: 'Pinterest',
      at: ['/pin/{id}[/*]', '/pin/{_}--{id}[/*]'],
    },
    { wraps: 'an address', at: ['/(login|signup|offsite)[/*]?next={address}', '/offsite?url={address}'] },
    { lookUp: 'https://pin.it/{short}', hosts: ['pin.it', 'www.pin.it'], at: ['/{short}'] },
    { is: 'a list of pins', at: ['/(search|ideas|explore|today|videos|topics)[/*]'] },
    { is: 'a user', at: ['/{_}'] },
    { is: 'a board', at: ['/{_}/{_}[/*]'] },
  ],
};

export const tumblr: Platform = {
  name: 'tumblr',
  title: 'Tumblr',
  hosts: ['{blog}.tumblr.com'],
  pieces: { id: /\d{1,25}/, blog: /[\da-zA-Z-]{1,63}/, slug: /[\w-]{1,100}/, short: /[\w-]{4,40}/ },
  addresses: [
    { item: 'https://{blog}.tumblr.com/post/{id}', extractor: 'Tumblr', at: ['/(post|video)/{id}[/*]'] },
    {
      is: 'a page of Tumblr itself',
      hosts: ['api', 'assets', 'embed', 'media', 'platform', 'secure', 'static'].map((label) => `${label}.tumblr.com`),
      at: ['/*'],
    },
    {
      wraps: 'an address',
      hosts: ['tumblr.com', 'www.tumblr.com'],
      at: [
        '/(login|register|safe-mode|privacy/consent)[/*]?redirect_to={address}',
        '/(login|register|safe-mode)[/*]?url={address}',
      ],
    },
    { wraps: 'an address', hosts: ['t.umblr.com'], at: ['/redirect?z={address}'] },
    {
      // It would become a host, and these stand for letters other than ASCII.
      is: 'a blog with an encoded name',
      hosts: ['tumblr.com', 'www.tumblr.com'],
      at: ['/[(blog/view|video)/](x|X)(n|N)--*'],
    },
    {
      item: 'https://{blog}.tumblr.com/post/{id}',
      extractor: 'Tumblr',
      hosts: ['tumblr.com', 'www.tumblr.com'],
      at: ['/(blog/view|video)/{blog}/{id}[/*]'],
    },
    { is: 'a list of posts', hosts: ['tumblr.com', 'www.tumblr.com'], at: ['/(tagged|search|explore|dashboard)[/*]'] },
    {
      is: 'a page of Tumblr itself',
      hosts: ['tumblr.com', 'www.tumblr.com'],
      at: [
        '/(reblog|edit|new|post|video|likes|following|followers|inbox|settings|communities)/*',
        '/(help|support|about|privacy|policy|login|logout|register|oauth|developers)[/*]',
      ],
    },
    {
      item: 'https://{blog}.tumblr.com/post/{id}',
      extractor: 'Tumblr',
      hosts: ['tumblr.com', 'www.tumblr.com'],
      at: ['/{blog}/{id}[/*]'],
    },
    {
      lookUp: 'https://at.tumblr.com/{blog}/{slug}/{short}',
      hosts: ['at.tumblr.com'],
      at: ['/{blog}/{slug}/{short}'],
    },
    { lookUp: 'https://tmblr.co/{short}', hosts: ['tmblr.co', 'www.tmblr.co'], at: ['/{short}'] },
    { is: 'a blog', at: ['/[(archive|tagged)[/*]]'] },
    { is: 'a blog', hosts: ['tumblr.com', 'www.tumblr.com'], at: ['/[blog/][view/]{blog}'] },
  ],
};
