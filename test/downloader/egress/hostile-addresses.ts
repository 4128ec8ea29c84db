import type { Canaries } from './canaries.ts';
import type { HostilePlatform } from './hostile-platform.ts';

/** A repeatable source of chance: xorshift, from a seed. */
export function chanceFrom(seed: number): <Item>(items: readonly Item[]) => Item {
  let state = seed | 0 || 1;
  return (items) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return items[(state >>> 0) % items.length] as (typeof items)[number];
  };
}

/** Addresses that nobody may be brought to, in every spelling. */
export function forbiddenAddresses(canaries: Canaries): string[] {
  const ports = canaries.addresses.map((address) => address.split(':').at(-1) ?? '');
  const spellings = [
    ...['127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1', '017700000001'],
    ...['localhost', 'LOCALHOST', 'localhost.', '127.0.0.1.', '0', '0.0.0.0', '127.0.0.2', '127.255.255.254'],
    ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]'],
    ...['[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fd00:ec2::254]', '[fec0::1]'],
    ...['169.254.169.254', '0xa9fea9fe', '10.0.0.1', '192.168.1.1', '172.16.0.1', '100.100.100.200', '168.63.129.16'],
    ...['192.0.2.2', '224.0.0.1', '255.255.255.255', 'user@127.0.0.1', 'public.example@127.0.0.1'],
    ...['inside.example', 'inside-a.example', 'inside-ab.example', 'inside-abc.example', 'inside-abcd.example'],
    ...['mixed.example', 'mixed-a.example', 'mixed-ab.example', 'mixed-abc.example'],
  ];
  const own = canaries.addresses.map((address) => `http://${address}/`);
  const schemes = ['http://', 'https://'];
  return [
    ...own,
    ...spellings.flatMap((host, index) => [
      ...schemes.map((scheme) => `${scheme}${host}/latest/meta-data`),
      // The canaries themselves, by their ports.
      `http://${host}:${ports[index % ports.length] ?? '80'}/`,
    ]),
    ...['ftp://127.0.0.1/x', 'file:///etc/hostname', 'rtmp://127.0.0.1/x', 'mms://127.0.0.1/x', 'ws://127.0.0.1/x'],
  ];
}

const playlist = 'application/vnd.apple.mpegurl';
const hls = (...lines: string[]): string => ['#EXTM3U', '#EXT-X-VERSION:6', ...lines, ''].join('\n');
const media = (...lines: string[]): string =>
  hls('#EXT-X-TARGETDURATION:5', '#EXT-X-MEDIA-SEQUENCE:0', ...lines, '#EXT-X-ENDLIST');

/** Ways in which a platform's answer can lead to an address; each gives the address of the answer. */
export const lures: Readonly<Record<string, (platform: HostilePlatform, to: string) => string>> = {
  plainly: (_platform, to) => to,
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status) => [
      `redirect-${status}`,
      (platform: HostilePlatform, to: string) => platform.serve({ status, location: to }),
    ]),
  ),
  'redirect-chain': (platform, to) => {
    const last = platform.serve({ status: 302, location: to });
    const middle = platform.serve({ status: 307, location: last.replace(platform.host, 'public-b.example') });
    return platform.serve({ status: 301, location: middle });
  },
  rebinding: (platform) => {
    const name = `rebinding-${performance.now().toString(36).replace('.', '-')}.example`;
    const path = platform.serve({ status: 302, location: `http://${name}/again` });
    return path.replace(platform.host, name);
  },
  'master-playlist': (platform, to) =>
    platform.serve({ type: playlist, body: hls('#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360', to) }),
  segment: (platform, to) => platform.serve({ type: playlist, body: media('#EXTINF:5,', to, '#EXTINF:5,', to) }),
  key: (platform, to) =>
    platform.serve({
      type: playlist,
      body: media(`#EXT-X-KEY:METHOD=AES-128,URI="${to}"`, '#EXTINF:5,', platform.serve({ body: 'x'.repeat(32) })),
    }),
  map: (platform, to) =>
    platform.serve({
      type: playlist,
      body: media(`#EXT-X-MAP:URI="${to}"`, '#EXTINF:5,', platform.serve({ body: 'x'.repeat(32) })),
    }),
  dash: (platform, to) =>
    platform.serve({
      type: 'application/dash+xml',
      body:
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT10S"><Period>' +
        `<BaseURL>${to}</BaseURL><AdaptationSet mimeType="video/mp4"><Representation id="v" bandwidth="800000" ` +
        'width="640" height="360" codecs="avc1.42C01E"><SegmentTemplate media="$Number$.m4s" initialization="i.mp4" ' +
        'duration="5" startNumber="1"/></Representation></AdaptationSet></Period></MPD>',
    }),
  page: (platform, to) =>
    platform.serve({
      body: `<meta property="og:video" content="${to}"><video src="${to}"><source src="${to}"></video><img src="${to}">`,
    }),
};

/** What the engine is told about an item that leads there, in each of the places where it takes an address. */
export function descriptionOf(kind: string, address: string, to: string): object {
  if (['master-playlist', 'segment', 'key', 'map'].includes(kind)) return { hls: [address] };
  if (kind === 'dash') return { dash: [address] };
  if (kind === 'page') return { pages: [address] };
  const format = { format_id: 'a', url: address, ext: 'mp4', vcodec: 'avc1', acodec: 'mp4a' };
  return {
    formats: [{ ...format, http_headers: { 'Ytdl-Request-Proxy': '', Referer: to } }],
    info: { thumbnail: to, thumbnails: [{ url: to }], subtitles: { en: [{ url: to, ext: 'vtt' }] }, webpage_url: to },
  };
}
