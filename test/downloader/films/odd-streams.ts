import { createCipheriv } from 'node:crypto';
import {
  aac,
  both,
  dash,
  fast,
  h264,
  half,
  hls,
  manifest,
  picture,
  playlist,
  seconds,
  type SoundFilm,
  type Stream,
  tone,
  usual,
  words,
} from './recipes.ts';

/** Streams in pieces that play everywhere, by what their playlists and manifests may say. */

type Files = Map<string, Buffer>;
const textOf = (files: Files, name: string) => files.get(name)?.toString() ?? '';
const edited = (name: string, edit: (text: string) => string) => (files: Files) =>
  void files.set(name, Buffer.from(edit(textOf(files, name))));
const inPlaylist = (edit: (text: string) => string) => edited('film.m3u8', edit);
const piecesOf = (files: Files, name: string) =>
  textOf(files, name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

const two = [...both, ...usual];
const fmp4 = hls('-hls_segment_type', 'fmp4');

/** Two playlists as one, the second with its own head. */
const joined =
  (mark: string, first = 'one.m3u8', second = 'two.m3u8') =>
  (files: Files) => {
    const lines = (name: string) =>
      textOf(files, name)
        .split('\n')
        .filter((line) => line !== '' && line !== '#EXT-X-ENDLIST');
    const body = lines(second).slice(
      lines(second).findIndex((line) => line.startsWith('#EXT-X-MAP') || line.startsWith('#EXTINF')),
    );
    files.set('film.m3u8', Buffer.from([...lines(first), mark, ...body, '#EXT-X-ENDLIST', ''].join('\n')));
  };
const part = (name: string, ...more: string[]) => [
  ...half,
  ...more,
  ...hls(
    '-hls_segment_type',
    'fmp4',
    '-hls_fmp4_init_filename',
    `${name}.mp4`,
    '-hls_segment_filename',
    `${name}%d.m4s`,
  ),
  `${name}.m3u8`,
];

const key = Buffer.from('0123456789abcdef');
const otherKey = Buffer.from('fedcba9876543210');
function encrypt(bytes: Buffer, by: Buffer, iv: Buffer): Buffer {
  const cipher = createCipheriv('aes-128-cbc', by, iv);
  return Buffer.concat([cipher.update(bytes), cipher.final()]);
}
const ivOf = (number: number) => {
  const iv = Buffer.alloc(16);
  iv.writeUInt32BE(number, 12);
  return iv;
};
/** Each piece with a key of its own, by its number in the stream. */
const withTurningKeys = (files: Files) => {
  let number = 0;
  files.set('a.key', key);
  files.set('b.key', otherKey);
  const lines = textOf(files, 'film.m3u8')
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('#EXTINF'))
        return [`#EXT-X-KEY:METHOD=AES-128,URI="${number % 2 === 0 ? 'a' : 'b'}.key"`, line];
      if (line === '' || line.startsWith('#')) return [line];
      files.set(line, encrypt(files.get(line) ?? Buffer.alloc(0), number % 2 === 0 ? key : otherKey, ivOf(number)));
      number += 1;
      return [line];
    });
  files.set('film.m3u8', Buffer.from(lines.join('\n')));
};
const withKeyThenNone = (files: Files) => {
  const [first = ''] = piecesOf(files, 'film.m3u8');
  files.set('a.key', key);
  files.set(first, encrypt(files.get(first) ?? Buffer.alloc(0), key, ivOf(7)));
  inPlaylist((text) =>
    text
      .replace('#EXTINF', '#EXT-X-KEY:METHOD=AES-128,URI="a.key",IV=0x00000000000000000000000000000007\n#EXTINF')
      .replace(`${first}\n`, `${first}\n#EXT-X-KEY:METHOD=NONE\n`),
  )(files);
};
/** In one file, each piece encrypted for itself. */
const encryptedRanges = (files: Files) => {
  const parts = piecesOf(files, 'film.m3u8').map((name, number) =>
    encrypt(files.get(name) ?? Buffer.alloc(0), key, ivOf(number)),
  );
  let number = 0,
    at = 0;
  files.set('a.key', key);
  files.set('all.ts', Buffer.concat(parts));
  inPlaylist((text) =>
    text
      .split('\n')
      .map((line) => {
        if (line === '' || line.startsWith('#')) return line;
        const { length } = parts[number++] ?? Buffer.alloc(0);
        const range = `#EXT-X-BYTERANGE:${length}@${at}\nall.ts`;
        at += length;
        return range;
      })
      .join('\n')
      .replace('#EXTINF', '#EXT-X-KEY:METHOD=AES-128,URI="a.key"\n#EXTINF'),
  )(files);
};
const withoutOffsets = inPlaylist((text) => {
  let isFirst = true;
  return text.replaceAll(/(#EXT-X-BYTERANGE:\d+)@\d+/g, (whole, range: string) => {
    const said = isFirst ? whole : range;
    isFirst = false;
    return said;
  });
});

/** The time of a piece of sound that has no container. */
const timeTag = (ticks: number) => {
  const owner = Buffer.from('com.apple.streaming.transportStreamTimestamp\0', 'latin1');
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(ticks));
  const frame = Buffer.concat([
    Buffer.from('PRIV', 'latin1'),
    Buffer.from([0, 0, 0, owner.length + 8, 0, 0]),
    owner,
    time,
  ]);
  return Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0', 'latin1'), Buffer.from([frame.length]), frame]);
};
const withTimes = (files: Files) =>
  piecesOf(files, 'film.m3u8').forEach((name, number) => {
    files.set(name, Buffer.concat([timeTag(900_000 + number * 180_000), files.get(name) ?? Buffer.alloc(0)]));
  });
const packed = (coded: readonly string[], extension: string) => [
  ...tone(),
  ...coded,
  ...words('-f segment -segment_time 2 -segment_list film.m3u8 -segment_list_type m3u8'),
  `piece%d.${extension}`,
];
const withGap = (files: Files) => {
  const [, second = ''] = piecesOf(files, 'film.m3u8');
  files.delete(second);
  inPlaylist((text) => text.replace(`${second}\n`, `#EXT-X-GAP\n${second}\n`))(files);
};
const master =
  (...lines: string[]) =>
  (files: Files) => {
    files.set('media.m3u8', files.get('film.m3u8') ?? Buffer.alloc(0));
    files.set('film.m3u8', Buffer.from(['#EXTM3U', ...lines, ''].join('\n')));
  };
const variant = '#EXT-X-STREAM-INF:BANDWIDTH=300000,RESOLUTION=160x90,CODECS="avc1.42C01E,mp4a.40.2"';
const disguised = (extension: string) => (files: Files) => {
  for (const name of piecesOf(files, 'film.m3u8'))
    files.set(name.replace('.ts', extension), files.get(name) ?? Buffer.alloc(0));
  inPlaylist((text) => text.replaceAll('.ts\n', `${extension}\n`))(files);
};

const inPieces: readonly Stream[] = [
  {
    name: 'HLS in one file of MP4',
    runs: [[...two, ...hls('-hls_segment_type', 'fmp4', '-hls_flags', 'single_file'), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS in one file, places not told',
    runs: [[...two, ...hls('-hls_flags', 'single_file'), 'film.m3u8']],
    change: withoutOffsets,
    gives: 'h264+aac',
  },
  {
    name: 'HLS with the same head again',
    runs: [part('one')],
    change: (files) =>
      inPlaylist((text) => text.replace(/(#EXTINF.*\none1)/, '#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="one.mp4"\n$1'))(
        files.set('film.m3u8', files.get('one.m3u8') ?? Buffer.alloc(0)),
      ),
    gives: 'h264+aac',
    seconds: 4,
  },
  {
    name: 'HLS with another head of the same make',
    runs: [part('one'), part('two')],
    change: joined('#EXT-X-DISCONTINUITY'),
    gives: 'h264+aac',
    seconds: 8,
  },
  {
    name: 'HLS with turning keys',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: withTurningKeys,
    gives: 'h264+aac',
  },
  {
    name: 'HLS of which the first piece alone is encrypted',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: withKeyThenNone,
    gives: 'h264+aac',
  },
  {
    name: 'HLS that is encrypted in one file',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: encryptedRanges,
    gives: 'h264+aac',
  },
  { name: 'HLS of packed AAC with times', runs: [packed(aac, 'aac')], change: withTimes, output: 'm4a', gives: 'aac' },
  {
    name: 'HLS of packed MP3 with times',
    runs: [packed(words('-c:a libmp3lame'), 'mp3')],
    change: withTimes,
    output: 'mp3',
    gives: 'mp3',
  },
  {
    name: 'HLS of packed MP3',
    runs: [packed(words('-c:a libmp3lame -write_xing 0 -id3v2_version 0'), 'mp3')],
    output: 'mp3',
    gives: 'mp3',
  },
  {
    name: 'HLS of packed AC-3 with times',
    runs: [packed(words('-c:a ac3'), 'ac3')],
    change: withTimes,
    output: 'mp3',
    gives: 'mp3',
  },
  { name: 'HLS with a gap', runs: [[...two, ...hls(), 'film.m3u8']], change: withGap, gives: 'h264+aac', seconds: 6 },
  {
    name: 'HLS with subtitles beside it',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: master(
      '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="s.m3u8"',
      `${variant},SUBTITLES="s"`,
      'media.m3u8',
    ),
    gives: 'h264+aac',
  },
  {
    name: 'HLS with a list of its still pictures',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: master(variant, 'media.m3u8', '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,URI="i.m3u8",RESOLUTION=160x90'),
    gives: 'h264+aac',
  },
  {
    name: 'HLS with captions in the picture',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: master(
      '#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="CC",INSTREAM-ID="CC1"',
      `${variant},CLOSED-CAPTIONS="c"`,
      'media.m3u8',
    ),
    gives: 'h264+aac',
  },
  {
    name: 'HLS with lines that end in two marks',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: inPlaylist((text) => text.replaceAll('\n', '\r\n')),
    gives: 'h264+aac',
  },
  {
    name: 'HLS whose pieces are called stills',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: disguised('.jpg'),
    gives: 'h264+aac',
  },
  {
    name: 'HLS whose pieces are called pages',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: disguised('.html'),
    gives: 'h264+aac',
  },
  {
    name: 'HLS with dates and new tags',
    runs: [[...two, ...hls('-hls_flags', 'program_date_time'), 'film.m3u8']],
    change: inPlaylist((text) =>
      text.replace(
        '#EXTINF',
        '#EXT-X-START:TIME-OFFSET=1\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-DATERANGE:ID="a",START-DATE="2026-01-01T00:00:00Z"\n#EXT-X-BITRATE:300\n#EXTINF',
      ),
    ),
    gives: 'h264+aac',
  },
  {
    name: 'HLS that begins at a later number',
    runs: [[...two, ...hls('-start_number', '4711'), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS that begins with a discontinuity',
    runs: [[...two, ...hls(), 'film.m3u8']],
    change: inPlaylist((text) =>
      text.replace('#EXTINF', '#EXT-X-DISCONTINUITY-SEQUENCE:3\n#EXT-X-DISCONTINUITY\n#EXTINF'),
    ),
    gives: 'h264+aac',
  },
  {
    name: 'HLS of MPEG-2',
    runs: [[...both, ...words('-c:v mpeg2video -c:a mp2 -g 12'), ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS of AV1',
    runs: [[...both, ...words('-c:v libsvtav1 -preset 12 -g 24'), ...aac, ...fmp4, 'film.m3u8']],
    gives: 'av1+aac',
  },
  {
    name: 'HLS of VP9',
    runs: [
      [
        ...both,
        ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -c:a libopus -strict -2'),
        ...fmp4,
        'film.m3u8',
      ],
    ],
    gives: 'vp9+opus',
  },
  {
    name: 'HLS of FLAC',
    runs: [[...tone(), ...words('-c:a flac -strict -2'), ...fmp4, 'film.m3u8']],
    gives: 'mp3',
    output: 'mp3',
  },
  { name: 'HLS as MP3', runs: [[...two, ...hls(), 'film.m3u8']], gives: 'mp3', output: 'mp3' },
  {
    name: 'HLS with more than one language in a piece',
    runs: [[...both, ...tone(), ...words('-map 0 -map 1 -map 2'), ...usual, ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS with a last piece of one picture',
    runs: [[...picture('160x90', 12, 4.1), ...tone(4.1), ...usual, ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
    seconds: 4,
  },
  {
    name: 'HLS whose sound is late',
    runs: [[...picture(), ...words('-itsoffset 2.5'), ...tone(3.5), ...usual, ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS in MP4 with sound of its own',
    runs: [
      [
        ...two,
        ...fmp4,
        '-var_stream_map',
        'v:0,agroup:a a:0,agroup:a,default:yes',
        '-hls_fmp4_init_filename',
        'i%v.mp4',
        '-master_pl_name',
        'film.m3u8',
        'v%v.m3u8',
      ],
    ],
    gives: 'h264+aac',
  },
  {
    name: 'HLS of one piece that is a film of MP4',
    runs: [[...two, ...fast, 'film.mp4']],
    change: (files) =>
      void files.set(
        'film.m3u8',
        Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nfilm.mp4\n#EXT-X-ENDLIST\n'),
      ),
    gives: 'h264+aac',
  },
];

const periods = (repeat: boolean) => (files: Files) => {
  const first = textOf(files, 'one.mpd');
  const of = (name: string) => /<Period[^]*<\/Period>/.exec(textOf(files, name))?.[0] ?? '';
  const begun = (period: string, at: number, number: number) =>
    period.replace(/<Period[^>]*>/, `<Period id="${number}" start="PT${at}S" duration="PT4S">`);
  files.set(
    'film.mpd',
    Buffer.from(
      first
        .replace(/mediaPresentationDuration="[^"]*"/, 'mediaPresentationDuration="PT8S"')
        .replace(
          /<Period[^]*<\/Period>/,
          `${begun(of('one.mpd'), 0, 0)}\n${begun(of(repeat ? 'one.mpd' : 'two.mpd'), 4, 1)}`,
        ),
    ),
  );
};
const period = (name: string, ...more: string[]) => [
  ...half,
  ...more,
  ...words(
    `-f dash -seg_duration 2 -init_seg_name ${name}-i$RepresentationID$.m4s -media_seg_name ${name}-$RepresentationID$-$Number$.m4s`,
  ),
  `${name}.mpd`,
];
const manifests: readonly Stream[] = [
  { name: 'DASH in one file', runs: [[...two, ...dash('-single_file', '1')]], gives: 'h264+aac' },
  { name: 'DASH with a list of pieces', runs: [[...two, ...dash('-use_template', '0')]], gives: 'h264+aac' },
  {
    name: 'DASH with an index in each file',
    runs: [[...two, ...dash('-global_sidx', '1', '-single_file', '1')]],
    gives: 'h264+aac',
  },
  {
    name: 'DASH of two periods',
    runs: [period('one'), period('two')],
    change: periods(false),
    gives: 'h264+aac',
    seconds: 8,
  },
  {
    name: 'DASH of AV1 and Opus',
    runs: [[...both, ...words('-c:v libsvtav1 -preset 12 -g 24 -c:a libopus'), ...dash()]],
    gives: 'av1+opus',
  },
  {
    name: 'DASH of HEVC',
    runs: [
      [...both, ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=24'), ...aac, ...dash()],
    ],
    gives: 'hevc+aac',
  },
  { name: 'DASH without sound', runs: [[...picture(), ...h264, ...dash()]], gives: 'h264' },
  { name: 'DASH of sound', runs: [[...tone(), ...aac, ...dash()]], gives: 'aac', output: 'm4a' },
];

export const oddStreams: readonly SoundFilm[] = [
  ...inPieces.map((each): SoundFilm => ({ describe: playlist('film.m3u8'), output: 'mp4', seconds, ...each })),
  ...manifests.map((each): SoundFilm => ({ describe: manifest('film.mpd'), output: 'mp4', seconds, ...each })),
];

/** Their pieces go on in another size. One file cannot hold them yet: they are refused, and never delivered by half. */
export const twoMakes: readonly SoundFilm[] = [
  {
    name: 'HLS with another head of another size',
    runs: [part('one'), part('two', '-s', '320x180')],
    change: joined('#EXT-X-DISCONTINUITY'),
    describe: playlist('film.m3u8'),
  },
  {
    name: 'DASH of two periods of two sizes',
    runs: [period('one'), period('two', '-s', '320x180')],
    change: periods(false),
    describe: manifest('film.mpd'),
  },
].map((each) => ({ ...each, output: 'mp4', gives: '', seconds: 8 }));
