import {
  aac,
  append,
  both,
  fast,
  film,
  h264,
  onePicture,
  picture,
  quiet,
  type Row,
  type SoundFilm,
  still,
  tone,
  usual,
  words,
} from './recipes.ts';

/** Files that play everywhere although their containers are odd: edited, never closed, or with something behind the film. */

type Change = (bytes: Buffer) => Buffer;

const changed = (file: string, change: Change): Partial<SoundFilm> => ({
  change: (files) => void files.set(file, change(Buffer.from(files.get(file) ?? Buffer.alloc(0)))),
});
const behind = (file: string, bytes: Buffer): Partial<SoundFilm> => ({ change: append(file, () => bytes) });
const mp3 = { output: 'mp3' } as const;

const zeros = Buffer.alloc(5000);
const id3v1 = Buffer.concat([Buffer.from('TAGA title'), Buffer.alloc(118)]);
/** Forty bytes of APE tag, with head and foot. */
const ape = (() => {
  const mark = (isHead: boolean) => {
    const bytes = Buffer.alloc(32);
    bytes.write('APETAGEX', 'latin1');
    bytes.writeUInt32LE(2000, 8);
    bytes.writeUInt32LE(64, 12);
    bytes.writeUInt32LE(1, 16);
    bytes.writeUInt32LE(isHead ? 0xa0000000 : 0x80000000, 20);
    return bytes;
  };
  const item = Buffer.alloc(32, 'x');
  item.writeUInt32LE(18, 0);
  item.writeUInt32LE(0, 4);
  item.write('Artist\0', 8, 'latin1');
  return Buffer.concat([mark(true), item, mark(false)]);
})();
const lyrics = Buffer.from('LYRICSBEGININD0000200ETT00005Title000028LYRICS200', 'latin1');

function pageChecksum(page: Buffer): number {
  let sum = 0;
  for (const byte of page) {
    sum = (sum ^ (byte << 24)) >>> 0;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x80000000 ? (sum << 1) ^ 0x04c11db7 : sum << 1) >>> 0;
  }
  return sum;
}

/** As a recorder leaves it that was stopped. */
const withoutEndMark: Change = (bytes) => {
  const page = bytes.subarray(bytes.lastIndexOf('OggS'));
  page[5] = (page[5] ?? 0) & ~4;
  page.writeUInt32LE(0, 22);
  page.writeUInt32LE(pageChecksum(page), 22);
  return bytes;
};
const twice: Change = (bytes) => Buffer.concat([bytes, bytes]);

/** The lengths of a longer file, from which this one was cut. */
const ofLongerFile: Change = (bytes) => {
  const at = Math.max(bytes.indexOf('Xing'), bytes.indexOf('Info'));
  bytes.writeUInt32BE(bytes.readUInt32BE(at + 8) * 2, at + 8);
  bytes.writeUInt32BE(bytes.readUInt32BE(at + 12) * 2, at + 12);
  return bytes;
};
const asVbri =
  (times: number): Change =>
  (bytes) => {
    const frame = Math.max(bytes.indexOf('Xing'), bytes.indexOf('Info')) - 36;
    const at = bytes.indexOf(0xff, frame < 0 ? 0 : bytes.indexOf('\xff\xfb', 0, 'latin1')) + 36;
    bytes.fill(0, at - 32, at + 60);
    bytes.write('VBRI', at, 'latin1');
    bytes.writeUInt16BE(1, at + 4);
    bytes.writeUInt32BE(bytes.length * times, at + 10);
    bytes.writeUInt32BE(230 * times, at + 14);
    return bytes;
  };

const sounds: readonly Row[] = [
  [
    'Opus in Ogg without an end mark',
    'a.opus',
    'mp3',
    [...tone(), ...words('-c:a libopus')],
    { ...mp3, ...changed('a.opus', withoutEndMark) },
  ],
  [
    'Vorbis in Ogg without an end mark',
    'a.ogg',
    'mp3',
    [...tone(), ...words('-c:a libvorbis')],
    { ...mp3, ...changed('a.ogg', withoutEndMark) },
  ],
  ['FLAC in Ogg', 'a.oga', 'mp3', [...tone(), ...words('-c:a flac')], mp3],
  [
    'two files of Ogg, one after the other',
    'a.ogg',
    'mp3',
    [...tone(), ...words('-c:a libvorbis')],
    { ...mp3, ...changed('a.ogg', twice), seconds: 12 },
  ],
  [
    'Ogg with zeros behind it',
    'a.ogg',
    'mp3',
    [...tone(), ...words('-c:a libvorbis')],
    { ...mp3, ...behind('a.ogg', zeros) },
  ],
  [
    'Ogg with a tag behind it',
    'a.ogg',
    'mp3',
    [...tone(), ...words('-c:a libvorbis')],
    { ...mp3, ...behind('a.ogg', id3v1) },
  ],
  [
    'Ogg without an end mark and with zeros behind it',
    'a.ogg',
    'mp3',
    [...tone(), ...words('-c:a libvorbis')],
    { ...mp3, ...changed('a.ogg', (bytes) => Buffer.concat([withoutEndMark(bytes), zeros])) },
  ],
  [
    'MP3 with the lengths of a longer file',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -q:a 5')],
    { ...mp3, ...changed('a.mp3', ofLongerFile) },
  ],
  [
    'MP3 with the lengths of a longer file, as M4A',
    'a.mp3',
    'aac',
    [...tone(), ...words('-c:a libmp3lame -b:a 64k')],
    { output: 'm4a', ...changed('a.mp3', ofLongerFile) },
  ],
  [
    'MP3 with the lengths of a longer file and a tag',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -q:a 5')],
    { ...mp3, ...changed('a.mp3', (bytes) => Buffer.concat([ofLongerFile(bytes), ape, id3v1])) },
  ],
  [
    'MP3 with a head of Fraunhofer',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -b:a 64k')],
    { ...mp3, ...changed('a.mp3', asVbri(1)) },
  ],
  [
    'MP3 with a stale head of Fraunhofer',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -b:a 64k')],
    { ...mp3, ...changed('a.mp3', asVbri(2)) },
  ],
  ...(
    [
      ['an APE tag', ape],
      ['lyrics', lyrics],
      ['ID3v1', id3v1],
      ['APE and ID3v1', Buffer.concat([ape, id3v1])],
      ['zeros', zeros],
    ] as const
  ).flatMap(([what, bytes]): Row[] => [
    [
      `MP3 with ${what} behind it`,
      'a.mp3',
      'mp3',
      [...tone(), ...words('-c:a libmp3lame -b:a 64k')],
      { ...mp3, ...behind('a.mp3', bytes) },
    ],
    [`AAC with ${what} behind it`, 'a.aac', 'aac', [...tone(), ...aac], { output: 'm4a', ...behind('a.aac', bytes) }],
  ]),
  [
    'MP3 that ends in a frame',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -b:a 64k -write_xing 0')],
    { ...mp3, ...changed('a.mp3', (bytes) => bytes.subarray(0, -50)) },
  ],
  [
    'two MP3 files, one after the other',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -q:a 5')],
    { ...mp3, ...changed('a.mp3', twice), seconds: 12 },
  ],
  [
    'two MP3 files with tags behind, one after the other',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -q:a 5')],
    { ...mp3, ...changed('a.mp3', (bytes) => Buffer.concat([bytes, id3v1, bytes, id3v1])), seconds: 12 },
  ],
  [
    'MP3 with a long tag before it',
    'a.mp3',
    'mp3',
    [...tone(), ...words('-c:a libmp3lame -q:a 5')],
    {
      ...mp3,
      ...changed('a.mp3', (bytes) =>
        Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x7f\x7f', 'latin1'), Buffer.alloc(16383), bytes]),
      ),
    },
  ],
  ['MP3 in WAV', 'a.wav', 'mp3', [...tone(), ...words('-c:a libmp3lame')], mp3],
  ['MP2', 'a.mp2', 'mp3', [...tone(), ...words('-c:a mp2')], mp3],
  [
    'AAC in two files, one after the other',
    'a.aac',
    'aac',
    [...tone(), ...aac],
    { output: 'm4a', ...changed('a.aac', twice), seconds: 12 },
  ],
  [
    'AAC with a tag before it',
    'a.aac',
    'aac',
    [...tone(), ...aac],
    {
      output: 'm4a',
      ...changed('a.aac', (bytes) =>
        Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x0a', 'latin1'), Buffer.alloc(10), bytes]),
      ),
    },
  ],
  ['LOAS', 'a.loas', 'mp3', [...tone(), ...aac, ...words('-f latm')], mp3],
  ['DTS', 'a.dts', 'mp3', [...tone(), ...words('-c:a dca -strict -2 -ar 48000 -ac 2')], mp3],
  ['TrueHD', 'a.thd', 'mp3', [...tone(), ...words('-c:a truehd -strict -2 -ar 48000 -ac 2')], mp3],
  ['WavPack', 'a.wv', 'mp3', [...tone(), ...words('-c:a wavpack')], mp3],
  ['True Audio', 'a.tta', 'mp3', [...tone(), ...words('-c:a tta')], mp3],
  ['AMR wide', 'a.awb', 'mp3', [...quiet, ...words('-c:a libopencore_amrnb -ar 8000 -ac 1 -f amr')], mp3],
  ['an audio book', 'a.m4b', 'aac', [...tone(), ...aac, ...words('-f ipod')], { output: 'm4a' }],
  ['MP3 without a container in MP4', 'a.m4a', 'mp3', [...tone(), ...words('-c:a libmp3lame -f mp4')], mp3],
  ...(
    [
      ['sizes of 0xffffffff', 0xffffffff],
      ['sizes of 0', 0],
      ['sizes that are too large', 0x7fffff00],
    ] as const
  ).flatMap(([what, size]): Row[] => [
    [
      `WAV with ${what}`,
      'a.wav',
      'mp3',
      [...tone(), ...words('-c:a pcm_s16le')],
      {
        ...mp3,
        ...changed('a.wav', (bytes) => {
          bytes.writeUInt32LE(size, 4);
          bytes.writeUInt32LE(size, bytes.indexOf('data') + 4);
          return bytes;
        }),
      },
    ],
  ]),
  [
    'WAV of an odd length',
    'a.wav',
    'mp3',
    [...tone(), ...words('-c:a pcm_u8 -ar 8001')],
    { ...mp3, ...changed('a.wav', (bytes) => bytes.subarray(0, -1)) },
  ],
  [
    'WAV with a list behind it',
    'a.wav',
    'mp3',
    [...tone(), ...words('-c:a pcm_s16le')],
    { ...mp3, ...behind('a.wav', Buffer.from('LIST\x0c\0\0\0INFOIART\0\0\0\0', 'latin1')) },
  ],
  [
    'WAV with half a sample behind it',
    'a.wav',
    'mp3',
    [...tone(), ...words('-c:a pcm_s24le')],
    { ...mp3, ...behind('a.wav', Buffer.from('x')) },
  ],
  ['WAV with floats', 'a.wav', 'mp3', [...tone(), ...words('-c:a pcm_f32le')], mp3],
  ['WAV with ADPCM', 'a.wav', 'mp3', [...tone(), ...words('-c:a adpcm_ms')], mp3],
  ['WAV of 64 bits', 'a.w64', 'mp3', [...tone(), ...words('-c:a pcm_s16le')], mp3],
  ['RF64', 'a.wav', 'mp3', [...tone(), ...words('-c:a pcm_s16le -rf64 always')], mp3],
  [
    'Sun sound without a length',
    'a.au',
    'mp3',
    [...tone(), ...words('-c:a pcm_s16be')],
    {
      ...mp3,
      ...changed('a.au', (bytes) => {
        bytes.writeUInt32BE(0xffffffff, 8);
        return bytes;
      }),
    },
  ],
  [
    'CAF without a length',
    'a.caf',
    'mp3',
    [...tone(), ...words('-c:a pcm_s16le')],
    {
      ...mp3,
      ...changed('a.caf', (bytes) => {
        bytes.writeBigInt64BE(-1n, bytes.lastIndexOf('data') + 4);
        return bytes;
      }),
    },
  ],
  [
    'FLAC that does not say how long it is',
    'a.flac',
    'mp3',
    [...tone(), ...words('-c:a flac')],
    {
      ...mp3,
      ...changed('a.flac', (bytes) => {
        bytes[21] = (bytes[21] ?? 0) & 0xf0;
        bytes.fill(0, 22, 42);
        return bytes;
      }),
    },
  ],
  [
    'FLAC with a tag behind it',
    'a.flac',
    'mp3',
    [...tone(), ...words('-c:a flac')],
    { ...mp3, ...behind('a.flac', id3v1) },
  ],
  [
    'FLAC with a tag before it',
    'a.flac',
    'mp3',
    [...tone(), ...words('-c:a flac')],
    {
      ...mp3,
      ...changed('a.flac', (bytes) =>
        Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\x0a', 'latin1'), Buffer.alloc(10), bytes]),
      ),
    },
  ],
  [
    'FLAC with zeros behind it',
    'a.flac',
    'mp3',
    [...tone(), ...words('-c:a flac')],
    { ...mp3, ...behind('a.flac', zeros) },
  ],
];

/** The element is there, and says nothing. */
const withoutCues: Change = (bytes) => {
  const at = bytes.lastIndexOf('1c53bb6b', undefined, 'hex');
  const first = bytes[at + 4] ?? 0;
  const lengthBytes = Math.clz32(first) - 23;
  let length = first & (0xff >> lengthBytes);
  for (let index = 1; index < lengthBytes; index += 1) length = length * 256 + (bytes[at + 4 + index] ?? 0);
  bytes[at] = 0xec;
  bytes[at + 1] = 0x10;
  bytes.writeUInt32BE(length, at + 1);
  bytes[at + 1] = 0x10 | (bytes[at + 1] ?? 0);
  return bytes;
};
const vp9 = words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus');

const matroska: readonly Row[] = [
  ['Matroska written while it was sent', 'a.mkv', 'h264+aac', [...both, ...usual, ...words('-live 1')]],
  ['Matroska without an index', 'a.mkv', 'h264+aac', [...both, ...usual], changed('a.mkv', withoutCues)],
  ['WebM with its index before it', 'a.webm', 'vp9+opus', [...both, ...vp9, ...words('-cues_to_front 1')]],
  ['WebM with zeros behind it', 'a.webm', 'vp9+opus', [...both, ...vp9], behind('a.webm', zeros)],
  [
    'WebM written while it was sent, with zeros behind it',
    'a.webm',
    'vp9+opus',
    [...both, ...vp9, ...words('-live 1')],
    behind('a.webm', zeros),
  ],
  ['WebM with a text behind it', 'a.webm', 'vp9+opus', [...both, ...vp9], behind('a.webm', Buffer.from('recorded'))],
  [
    'WebM written while it was sent, with a text behind it',
    'a.webm',
    'vp9+opus',
    [...both, ...vp9, ...words('-live 1')],
    behind('a.webm', Buffer.from('recorded')),
  ],
  [
    'Matroska with an unknown element behind it',
    'a.mkv',
    'h264+aac',
    [...both, ...usual, ...words('-live 1')],
    behind('a.mkv', Buffer.from('4abc90000102030405060708090a0b0c0d0e0f', 'hex')),
  ],
  ['Matroska of small clusters', 'a.mkv', 'h264+aac', [...both, ...usual, ...words('-cluster_size_limit 2000')]],
  ['Matroska with checksums', 'a.mkv', 'h264+aac', [...both, ...usual, ...words('-write_crc32 1')]],
  [
    'a clock that begins before 0',
    'a.mkv',
    'h264+aac',
    [...both, ...usual, ...words('-output_ts_offset -1 -avoid_negative_ts disabled')],
  ],
  ['Matroska that begins at 100000 s', 'a.mkv', 'h264+aac', [...both, ...usual, ...words('-output_ts_offset 100000')]],
];

const boxAt = (bytes: Buffer, name: string) => bytes.lastIndexOf(name) - 4;
const box = (name: string, contents: Buffer) => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + contents.length, 0);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, contents]);
};
const freeCalled =
  (name: string): Change =>
  (bytes) => {
    bytes.write(name, bytes.indexOf('free'), 'latin1');
    return bytes;
  };
const durationOf =
  (value: number): Change =>
  (bytes) => {
    bytes.writeUInt32BE(value, bytes.indexOf('mvhd') + 4 + 16);
    return bytes;
  };
const fragmented = words('-movflags frag_keyframe+empty_moov+default_base_moof');
const mp4 = (name: string, more: readonly string[], change: Change, extra: Partial<SoundFilm> = {}): Row => [
  name,
  'a.mp4',
  'h264+aac',
  [...both, ...usual, ...more],
  { ...changed('a.mp4', change), ...extra },
];
const then =
  (...more: readonly Buffer[]): Change =>
  (bytes) =>
    Buffer.concat([bytes, ...more]);

const mp4s: readonly Row[] = [
  mp4('MP4 with an unknown box before its film', [], freeCalled('abcd')),
  mp4('MP4 with a skipped box', [], freeCalled('skip')),
  mp4('MP4 with unknown boxes behind it', [], then(box('free', zeros), box('abcd', zeros), box('uuid', zeros))),
  mp4('MP4 with an empty film box', [], then(box('mdat', Buffer.alloc(0)))),
  mp4('MP4 whose film box goes on to the end', fast, (bytes) => {
    bytes.writeUInt32BE(0, boxAt(bytes, 'mdat'));
    return bytes;
  }),
  mp4('MP4 with long lengths', [], (bytes) => {
    const at = bytes.indexOf('free') - 4;
    const length = bytes.readUInt32BE(at + 8);
    bytes.writeUInt32BE(1, at);
    bytes.write('mdat', at + 4, 'latin1');
    bytes.writeBigUInt64BE(BigInt(length + 8), at + 8);
    return bytes;
  }),
  mp4('MP4 that says it is ten times as long', [], durationOf(60_000)),
  mp4('MP4 that says it lasts nothing', [], durationOf(0)),
  mp4('MP4 that does not know how long it is', [], durationOf(0xffffffff)),
  mp4('MP4 with a still behind it', fast, then(Buffer.from('ffd8ffe000104a464946', 'hex'), zeros)),
  mp4('MP4 with a tag behind it', fast, then(id3v1)),
  mp4('fragments with zeros behind them', fragmented, then(zeros)),
  mp4('fragments with three zeros behind them', fragmented, then(Buffer.alloc(3))),
  mp4('fragments with a text behind them', fragmented, then(Buffer.from('recorded with a recorder'))),
  mp4('fragments without their index', fragmented, (bytes) => bytes.subarray(0, boxAt(bytes, 'mfra'))),
  mp4('fragments with an unknown box behind them', fragmented, then(box('abcd', zeros))),
  mp4('fragments whose last goes on to the end', fragmented, (bytes) => {
    const whole = bytes.subarray(0, boxAt(bytes, 'mfra'));
    whole.writeUInt32BE(0, boxAt(whole, 'mdat'));
    return whole;
  }),
  mp4('smooth streaming', words('-f ismv'), (bytes) => bytes),
  mp4('MP4 that begins before 0', words('-output_ts_offset -1 -avoid_negative_ts disabled'), (bytes) => bytes),
  mp4('MP4 that begins at 5000 s', words('-output_ts_offset 5000'), (bytes) => bytes),
];

const packets: readonly Row[] = [
  [
    'a transport stream that ends in a packet',
    'a.ts',
    'h264+aac',
    [...both, ...usual],
    changed('a.ts', (bytes) => bytes.subarray(0, -100)),
  ],
  ['a transport stream with zeros behind it', 'a.ts', 'h264+aac', [...both, ...usual], behind('a.ts', zeros)],
  [
    'a transport stream with empty packets behind it',
    'a.ts',
    'h264+aac',
    [...both, ...usual],
    behind(
      'a.ts',
      Buffer.concat(
        Array.from({ length: 20 }, () => Buffer.concat([Buffer.from('471fff10', 'hex'), Buffer.alloc(184, 0xff)])),
      ),
    ),
  ],
  [
    'a transport stream that begins in a packet',
    'a.ts',
    'h264+aac',
    [...both, ...usual],
    changed('a.ts', (bytes) => Buffer.concat([Buffer.alloc(77, 1), bytes])),
  ],
  ['a stream of a camera', 'a.m2ts', 'h264+aac', [...both, ...usual, ...words('-mpegts_m2ts_mode 1')]],
  [
    'a stream of a camera that ends in a packet',
    'a.m2ts',
    'h264+aac',
    [...both, ...usual, ...words('-mpegts_m2ts_mode 1')],
    changed('a.m2ts', (bytes) => bytes.subarray(0, -100)),
  ],
  [
    'a program stream that ends in a packet',
    'a.mpg',
    'h264+aac',
    [...picture('160x90', 25), ...tone(), ...words('-c:v mpeg2video -c:a mp2')],
    changed('a.mpg', (bytes) => bytes.subarray(0, -300)),
  ],
  [
    'a program stream with zeros behind it',
    'a.vob',
    'h264+aac',
    [...picture('160x90', 25), ...tone(), ...words('-c:v mpeg2video -c:a ac3')],
    behind('a.vob', zeros),
  ],
  ['H.264 without a container', 'a.h264', 'h264', [...picture(), ...h264]],
  [
    'HEVC without a container',
    'a.hevc',
    'hevc',
    [...picture(), ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none')],
  ],
  ['AV1 without a container', 'a.obu', 'av1', [...picture(), ...words('-c:v libsvtav1 -preset 12')]],
  ['VP9 in IVF', 'a.ivf', 'vp9', [...picture(), ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8')]],
  ['MPEG-2 without a container', 'a.m2v', 'h264', [...picture('160x90', 25), ...words('-c:v mpeg2video')]],
];

const others: readonly Row[] = [
  ...(
    [
      ['with a length of 0', 4],
      ['without an index', -1],
    ] as const
  ).map(([what, at]): Row => [
    `AVI ${what}`,
    'a.avi',
    'h264+mp3',
    [...both, ...words('-c:v mpeg4 -c:a libmp3lame')],
    changed('a.avi', (bytes) => {
      if (at < 0) return bytes.subarray(0, bytes.lastIndexOf('idx1'));
      bytes.writeUInt32LE(0, at);
      return bytes;
    }),
  ]),
  [
    'AVI with a wrong index',
    'a.avi',
    'h264+mp3',
    [...both, ...words('-c:v mpeg4 -c:a libmp3lame')],
    changed('a.avi', (bytes) => bytes.fill(0x33, bytes.lastIndexOf('idx1') + 1000)),
  ],
  ['AVI with H.264', 'a.avi', 'h264+mp3', [...both, ...h264, ...words('-c:a libmp3lame')]],
  [
    'AVI with zeros behind it',
    'a.avi',
    'h264+mp3',
    [...both, ...words('-c:v mpeg4 -c:a libmp3lame')],
    behind('a.avi', zeros),
  ],
  [
    'Flash that ends in a tag',
    'a.flv',
    'h264+aac',
    [...both, ...usual],
    changed('a.flv', (bytes) => bytes.subarray(0, -40)),
  ],
  ['Flash without a duration', 'a.flv', 'h264+aac', [...both, ...usual, ...words('-flvflags no_duration_filesize')]],
  [
    'Flash with a wrong duration',
    'a.flv',
    'h264+aac',
    [...both, ...usual],
    changed('a.flv', (bytes) => {
      bytes.writeDoubleBE(600, bytes.indexOf('duration') + 9);
      return bytes;
    }),
  ],
  [
    'Flash with HEVC',
    'a.flv',
    'hevc+aac',
    [...both, ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none'), ...aac],
  ],
  [
    'Windows Media with zeros behind it',
    'a.wmv',
    'h264+aac',
    [...both, ...words('-c:v wmv2 -c:a wmav2')],
    behind('a.wmv', zeros),
  ],
  ['Real Media', 'a.rm', 'h264+aac', [...picture('176x144'), ...tone(), ...words('-c:v rv20 -c:a ac3')]],
  ['NUT', 'a.nut', 'h264+aac', [...both, ...usual]],
  [
    'MXF',
    'a.mxf',
    'h264+aac',
    [...picture('160x90', 25), ...tone(), ...words('-c:v mpeg2video -c:a pcm_s16le -ar 48000')],
  ],
  ['a GIF as a film', 'a.gif', 'h264', [...picture()]],
  ['an animated PNG as a film', 'a.apng', 'h264', [...picture('160x90', 5), ...words('-f apng')]],
  ['an animated WebP as a film', 'a.webp', 'h264', [...picture('160x90', 5), ...words('-c:v libwebp_anim')]],
  ['an animated AVIF as a film', 'a.avif', 'av1', [...picture('160x90', 5), ...words('-c:v libsvtav1 -preset 12')]],
  ['one picture without sound', 'a.mp4', 'h264', [...onePicture, ...h264], { seconds: 1 }],
  [
    'one picture in WebM',
    'a.webm',
    'vp9',
    [...onePicture, ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8')],
    { seconds: 1 },
  ],
  ['an 8K picture', 'a.mp4', 'h264', [...picture('7680x4320', 1, 2), ...h264], { seconds: 2 }],
  ['a wide picture', 'a.mp4', 'h264+aac', [...picture('1000x32'), ...tone(), ...usual]],
  ['pixels that are not square', 'a.mp4', 'h264+aac', [...both, ...words('-vf setsar=4/3'), ...usual]],
  [
    'a picture of ten bits in VP9',
    'a.webm',
    'vp9+opus',
    [...both, ...vp9, ...words('-pix_fmt yuv420p10le -profile:v 2')],
  ],
  [
    'a picture with transparency',
    'a.webm',
    'vp9+opus',
    [...both, ...vp9, ...words('-pix_fmt yuva420p -auto-alt-ref 0')],
  ],
  ['a picture of RGB', 'a.mkv', 'h264+aac', [...both, ...words('-c:v libx264rgb -preset ultrafast'), ...aac]],
  [
    'a film with a cover',
    'a.mp4',
    'h264+mjpeg+aac',
    [
      ...both,
      ...picture('160x90', 1, 1),
      ...words(
        '-map 0 -map 1 -map 2 -c:v:1 mjpeg -disposition:v:1 attached_pic -c:v:0 libx264 -preset ultrafast -pix_fmt:v:0 yuv420p',
      ),
      ...aac,
    ],
  ],
  ['two pictures', 'a.mp4', 'h264+aac', [...both, ...picture('80x46'), ...words('-map 0 -map 1 -map 2'), ...usual]],
  [
    'a cover in FLAC',
    'a.flac',
    'mp3',
    [...tone(), ...onePicture, ...words('-map 0 -map 1 -c:v mjpeg -disposition:v attached_pic -c:a flac')],
    mp3,
  ],
  [
    'subtitles in MP4',
    'a.mp4',
    'h264+aac',
    [
      ...both,
      ...words(
        '-f srt -i data:text/plain;base64,MQowMDowMDowMSwwMDAgLS0+IDAwOjAwOjAyLDAwMApIZWxsbwoK -map 0 -map 1 -map 2 -c:s mov_text',
      ),
      ...usual,
    ],
  ],
  [
    'subtitles in Matroska',
    'a.mkv',
    'h264+aac',
    [
      ...both,
      ...words(
        '-f srt -i data:text/plain;base64,MQowMDowMDowMSwwMDAgLS0+IDAwOjAwOjAyLDAwMApIZWxsbwoK -map 0 -map 1 -map 2 -c:s srt',
      ),
      ...usual,
    ],
  ],
  [
    'chapters in MP4',
    'a.mp4',
    'h264+aac',
    [
      ...both,
      ...words(
        '-f ffmetadata -i data:text/plain;base64,O0ZGTUVUQURBVEExCltDSEFQVEVSXQpUSU1FQkFTRT0xLzEwMDAKU1RBUlQ9MApFTkQ9MzAwMAp0aXRsZT1PbmUKW0NIQVBURVJdClRJTUVCQVNFPTEvMTAwMApTVEFSVD0zMDAwCkVORD02MDAwCnRpdGxlPVR3bwo= -map 0 -map 1 -map_chapters 2',
      ),
      ...usual,
    ],
  ],
  ['only sound, asked for as a film of MP4', 'a.mp4', 'h264+aac', [...picture('16x16', 1), ...tone(), ...usual]],
  ['a phone of 2008', 'a.3g2', 'h264+aac', [...both, ...usual]],
  ['Sorenson in QuickTime', 'a.mov', 'h264+aac', [...both, ...words('-c:v svq1 -c:a pcm_s16be')]],
  ['an animation in QuickTime', 'a.mov', 'h264+aac', [...both, ...words('-c:v qtrle -c:a adpcm_ima_qt')]],
  [
    'HEVC in hev1',
    'a.mp4',
    'hevc+aac',
    [...both, ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none -tag:v hev1'), ...aac],
  ],
  [
    'VVC',
    'a.mp4',
    'h264+aac',
    [...picture('160x90', 12, 1), ...tone(1), ...words('-c:v libvvenc -preset faster'), ...aac],
    { seconds: 1 },
  ],
  ['Cinepak', 'a.avi', 'h264', [...picture('160x88', 12, 1), ...words('-c:v cinepak')], { seconds: 1 }],
  ['huffyuv', 'a.avi', 'h264+aac', [...both, ...words('-c:v huffyuv -c:a pcm_s16le')]],
];

const stillKinds: readonly [string, string, readonly string[], SoundFilm['change']?][] = [
  ['AVIF', 'a.avif', words('-c:v libsvtav1 -preset 12 -still-picture 1')],
  ['AVIF of ten bits', 'a.avif', words('-c:v libsvtav1 -preset 12 -pix_fmt yuv420p10le -still-picture 1')],
  ['JPEG that is progressive', 'a.jpg', words('-huffman optimal')],
  ['PNG with zeros behind it', 'a.png', [], append('a.png', () => zeros)],
  ['WebP with zeros behind it', 'a.webp', words('-c:v libwebp'), append('a.webp', () => zeros)],
  ['GIF with zeros behind it', 'a.gif', [], append('a.gif', () => zeros)],
  ['PNG with text behind it', 'a.png', [], append('a.png', () => Buffer.from('taken by a phone'))],
  ['BMP of 16 colours', 'a.bmp', words('-pix_fmt pal8')],
  ['JPEG of CMYK', 'a.jpg', words('-pix_fmt yuvj422p')],
];

export const oddContainers: readonly SoundFilm[] = [
  ...[...sounds, ...matroska, ...mp4s, ...packets, ...others].map(film),
  ...stillKinds.map(([name, file, coded, change]): SoundFilm => ({
    name: `a still: ${name}`,
    runs: [[...onePicture, ...coded, file]],
    describe: still(file),
    output: 'jpg',
    gives: 'mjpeg',
    ...(change && { change }),
  })),
];
