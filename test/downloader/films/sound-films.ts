import { oddContainers } from './odd-containers.ts';
import { oddStreams } from './odd-streams.ts';
import {
  aac,
  append,
  both,
  dash,
  fast,
  film,
  h264,
  half,
  hls,
  manifest,
  onePicture,
  picture,
  playlist,
  quiet,
  type Row,
  seconds,
  type SoundFilm,
  still,
  type Stream,
  tone,
  twoFiles,
  usual,
  words,
} from './recipes.ts';

const codecs: readonly Row[] = [
  ['H.264 and AAC', 'a.mp4', 'h264+aac', [...both, ...usual, ...fast]],
  ['an index at the end', 'a.mp4', 'h264+aac', [...both, ...usual]],
  [
    'fragments',
    'a.mp4',
    'h264+aac',
    [...both, ...usual, ...words('-movflags frag_keyframe+empty_moov+default_base_moof')],
  ],
  [
    'fragments with an index of them',
    'a.mp4',
    'h264+aac',
    [...both, ...usual, ...words('-movflags frag_keyframe+empty_moov+default_base_moof+global_sidx')],
  ],
  [
    'HEVC',
    'a.mp4',
    'hevc+aac',
    [...both, ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none'), ...aac],
  ],
  [
    'AV1',
    'a.mp4',
    'av1+aac',
    [...both, ...words('-c:v libsvtav1 -preset 12 -svtav1-params logical-processors=1'), ...aac],
  ],
  [
    'VP9 and Opus in MP4',
    'a.mp4',
    'vp9+opus',
    [...both, ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus')],
  ],
  ['MPEG-4 part 2', 'a.mp4', 'h264+aac', [...both, ...words('-c:v mpeg4'), ...aac]],
  ['MP3 in MP4', 'a.mp4', 'h264+mp3', [...both, ...h264, ...words('-c:a libmp3lame')]],
  ['AC-3 in MP4', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-c:a ac3')]],
  ['E-AC-3 in MP4', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-c:a eac3')]],
  ['FLAC in MP4', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-c:a flac -strict -2')]],
  ['ALAC in MOV', 'a.mov', 'h264+aac', [...both, ...h264, ...words('-c:a alac')]],
  ['PCM in MOV', 'a.mov', 'h264+aac', [...both, ...h264, ...words('-c:a pcm_s16le')]],
  ['a film of QuickTime', 'a.mov', 'h264+aac', [...both, ...usual]],
  ['ProRes', 'a.mov', 'h264+aac', [...both, ...words('-c:v prores_ks -c:a pcm_s24le')]],
  ['Motion JPEG', 'a.mov', 'h264+aac', [...both, ...words('-c:v mjpeg'), ...aac]],
  [
    'VP8 and Vorbis',
    'a.webm',
    'h264+aac',
    [...both, ...words('-c:v libvpx -deadline realtime -cpu-used 8 -c:a libvorbis')],
  ],
  [
    'VP9 and Opus',
    'a.webm',
    'vp9+opus',
    [...both, ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus')],
  ],
  ['AV1 and Opus', 'a.webm', 'av1+opus', [...both, ...words('-c:v libsvtav1 -preset 12 -c:a libopus')]],
  ['VP8 without sound', 'a.webm', 'h264', [...picture(), ...words('-c:v libvpx -deadline realtime -cpu-used 8')]],
  [
    'WebM written while it was sent',
    'a.webm',
    'vp9+opus',
    [...both, ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus -live 1')],
  ],
  ['H.264 in Matroska', 'a.mkv', 'h264+aac', [...both, ...usual]],
  [
    'HEVC and Opus in Matroska',
    'a.mkv',
    'hevc+opus',
    [...both, ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none -c:a libopus')],
  ],
  ['MPEG-2 in Matroska', 'a.mkv', 'h264+aac', [...both, ...words('-c:v mpeg2video -c:a mp2')]],
  ['FFV1 and FLAC', 'a.mkv', 'h264+aac', [...both, ...words('-c:v ffv1 -c:a flac')]],
  ['Xvid', 'a.avi', 'h264+mp3', [...both, ...words('-c:v mpeg4 -vtag xvid -c:a libmp3lame')]],
  ['Motion JPEG in AVI', 'a.avi', 'h264+aac', [...both, ...words('-c:v mjpeg -c:a pcm_s16le')]],
  ['H.264 in Flash', 'a.flv', 'h264+aac', [...both, ...usual]],
  ['Sorenson in Flash', 'a.flv', 'h264+mp3', [...both, ...words('-c:v flv -c:a libmp3lame')]],
  ['a transport stream', 'a.ts', 'h264+aac', [...both, ...usual]],
  ['MPEG-2 in a transport stream', 'a.ts', 'h264+aac', [...both, ...words('-c:v mpeg2video -c:a mp2')]],
  [
    'a program stream',
    'a.mpg',
    'h264+aac',
    [...picture('160x90', 25), ...tone(), ...words('-c:v mpeg1video -c:a mp2')],
  ],
  ['Windows Media', 'a.wmv', 'h264+aac', [...both, ...words('-c:v wmv2 -c:a wmav2')]],
  ['Theora', 'a.ogv', 'h264+aac', [...both, ...words('-c:v libtheora -c:a libvorbis')]],
  [
    'a phone of 2005',
    'a.3gp',
    'h264+aac',
    [...picture('176x144'), ...tone(), ...words('-c:v h263 -c:a libopencore_amrnb -ar 8000 -ac 1')],
  ],
  [
    'DV',
    'a.dv',
    'h264+aac',
    [
      ...picture('720x576', 25, 2),
      ...tone(2),
      ...words('-c:v dvvideo -pix_fmt yuv420p -c:a pcm_s16le -ar 48000 -ac 2'),
    ],
    { seconds: 2 },
  ],
];

const rhythms: readonly Row[] = [
  ['one picture a second', 'a.mp4', 'h264+aac', [...picture('160x90', 1), ...tone(), ...usual]],
  ['sixty pictures a second', 'a.mp4', 'h264+aac', [...picture('160x90', 60), ...tone(), ...usual]],
  ['an uneven pace', 'a.mp4', 'h264+aac', [...both, '-vf', "select='lt(mod(n,20),3)'", '-fps_mode', 'vfr', ...usual]],
  [
    'a picture that stands still for 2 s',
    'a.mp4',
    'h264+aac',
    [...both, '-vf', "select='not(between(t,2,4))'", '-fps_mode', 'vfr', ...usual],
  ],
  ['a single picture', 'a.mp4', 'h264+aac', [...picture('160x90', 1, 1), ...tone(), ...usual]],
  [
    'sound that stops for 2 s',
    'a.mp4',
    'h264+aac',
    [...both, '-af', 'asetnsamples=1024,aselect=not(between(t\\,2\\,4))', ...usual],
  ],
  ['sound that ends early', 'a.mp4', 'h264+aac', [...picture(), ...tone(2), ...usual]],
  ['sound that begins late', 'a.mp4', 'h264+aac', [...picture(), ...words('-itsoffset 2'), ...tone(4), ...usual]],
  ['a picture that ends early', 'a.mp4', 'h264+aac', [...picture('160x90', 12, 2), ...tone(), ...usual]],
  [
    'a picture that begins late',
    'a.mp4',
    'h264+aac',
    [...words('-itsoffset 2'), ...picture('160x90', 12, 4), ...tone(), ...usual],
  ],
  ['silence', 'a.mp4', 'h264+aac', [...picture(), ...quiet, ...usual]],
  [
    'black',
    'a.mp4',
    'h264+aac',
    [...words(`-f lavfi -i color=black:size=160x90:rate=12:duration=${seconds}`), ...tone(), ...usual],
  ],
  ['no sound', 'a.mp4', 'h264', [...picture(), ...h264]],
  [
    'pictures that refer to later ones',
    'a.mp4',
    'h264+aac',
    [...both, ...words('-c:v libx264 -preset veryfast -bf 3'), ...aac],
  ],
  [
    'a picture that is renewed by and by',
    'a.mp4',
    'h264+aac',
    [...both, ...words('-c:v libx264 -preset veryfast -x264-params intra-refresh=1'), ...aac],
  ],
  ['a clock that begins at 1000 s', 'a.ts', 'h264+aac', [...both, ...usual, ...words('-output_ts_offset 1000')]],
  ['a clock that wraps', 'a.ts', 'h264+aac', [...both, ...usual, ...words('-output_ts_offset 95440')]],
  ['a tenth of a second', 'a.mp4', 'h264+aac', [...picture('160x90', 10, 0.1), ...tone(0.1), ...usual], { seconds: 0 }],
];

const sizes: readonly Row[] = [
  ['odd sides', 'a.mp4', 'h264+aac', [...picture('161x91'), ...tone(), ...h264, ...words('-pix_fmt yuv444p'), ...aac]],
  [
    'odd sides in VP8',
    'a.webm',
    'h264+aac',
    [...picture('161x91'), ...tone(), ...words('-c:v libvpx -deadline realtime -cpu-used 8 -c:a libvorbis')],
  ],
  ['a portrait', 'a.mp4', 'h264+aac', [...picture('90x160'), ...tone(), ...usual]],
  ['a tiny picture', 'a.mp4', 'h264+aac', [...picture('16x16'), ...tone(), ...usual]],
  [
    'a large picture that is refreshed bit by bit',
    'a.mp4',
    'h264+aac',
    [
      ...picture('1280x720', 12, 4),
      ...tone(4),
      ...words('-c:v libx264 -preset ultrafast -pix_fmt yuv420p -x264-params intra-refresh=1:keyint=12'),
      ...aac,
    ],
    { seconds: 4 },
  ],
  [
    'a large picture with open groups',
    'a.ts',
    'h264+aac',
    [
      ...picture('1280x720', 12, 4),
      ...tone(4),
      ...words('-c:v libx264 -preset veryfast -bf 2 -g 12 -pix_fmt yuv420p -x264-params open-gop=1'),
      ...aac,
    ],
    { seconds: 4 },
  ],
  [
    'a large picture of HEVC',
    'a.mp4',
    'hevc+aac',
    [
      ...picture('1280x720', 12, 2),
      ...tone(2),
      ...words('-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=error'),
      ...aac,
    ],
    { seconds: 2 },
  ],
  ['a large picture', 'a.mp4', 'h264+aac', [...picture('1920x1080', 12, 2), ...tone(2), ...usual], { seconds: 2 }],
  ['ten bits', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-pix_fmt yuv420p10le'), ...aac]],
  [
    'interlaced',
    'a.mp4',
    'h264+aac',
    [
      ...picture('160x120'),
      ...tone(),
      ...words('-c:v libx264 -preset veryfast -flags +ildct+ilme -x264-params tff=1 -pix_fmt yuv420p'),
      ...aac,
    ],
  ],
  [
    'HDR in HEVC',
    'a.mp4',
    'hevc+aac',
    [
      ...both,
      ...words(
        '-c:v libx265 -preset ultrafast -pix_fmt yuv420p10le -x265-params log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc',
      ),
      ...aac,
    ],
  ],
  ['sound of 8 kHz', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-c:a aac -ar 8000 -ac 1')]],
  ['sound of six channels', 'a.mp4', 'h264+aac', [...both, ...h264, ...words('-c:a aac -ac 6')]],
  [
    'a picture beside its sound that is a cover',
    'a.m4a',
    'mjpeg+aac',
    [...tone(), ...picture('160x90', 1, 1), ...words('-map 0 -map 1 -c:v mjpeg -disposition:v attached_pic -c:a aac')],
    { output: 'm4a' },
  ],
];

const layouts: readonly Row[] = [
  [
    'two languages',
    'a.mkv',
    'h264+aac',
    [
      ...both,
      ...tone(),
      ...words('-map 0 -map 1 -map 2 -metadata:s:a:0 language=jpn -metadata:s:a:1 language=eng'),
      ...usual,
    ],
  ],
  ['subtitles that are texts', 'a.mp4', 'h264+aac', [...both, ...usual, ...words('-metadata comment=x')]],
  ['a track of times', 'a.mov', 'h264+aac', [...both, ...usual, ...words('-timecode 01:00:00:00')]],
  ['sound before the picture', 'a.mp4', 'h264+aac', [...both, ...words('-map 1 -map 0'), ...usual]],
  ['chapters', 'a.mkv', 'h264+aac', [...both, ...usual, ...words('-metadata title=Chapters')]],
  [
    'a file that is called MP4 and is WebM',
    'a.mp4',
    'vp9+opus',
    [...both, ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus -f webm')],
  ],
  ['a file that is called WebM and is MP4', 'a.webm', 'h264+aac', [...both, ...usual, ...words('-f mp4')]],
  [
    'a file that is called MP4 and is a transport stream',
    'a.mp4',
    'h264+aac',
    [...both, ...usual, ...words('-f mpegts')],
  ],
];

const tracks: readonly [string, string, string, string, readonly string[], readonly string[]][] = [
  ['tracks of their own', 'p.mp4', 's.m4a', 'h264+aac', [...picture(), ...h264], [...tone(), ...aac]],
  [
    'tracks of their own, the sound ends early',
    'p.mp4',
    's.m4a',
    'h264+aac',
    [...picture(), ...h264],
    [...tone(2), ...aac],
  ],
  [
    'tracks of their own, the picture ends early',
    'p.mp4',
    's.m4a',
    'h264+aac',
    [...picture('160x90', 12, 2), ...h264],
    [...tone(), ...aac],
  ],
  [
    'tracks of their own in WebM',
    'p.webm',
    's.webm',
    'vp9+opus',
    [...picture(), ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8')],
    [...tone(), ...words('-c:a libopus')],
  ],
  // Of large pictures only those are decoded that need no other.
  [
    'large tracks of their own',
    'p.mp4',
    's.m4a',
    'h264+aac',
    [...picture('1280x720', 12, 2), ...h264],
    [...tone(2), ...aac],
  ],
  [
    'large tracks of their own in WebM',
    'p.webm',
    's.webm',
    'vp9+opus',
    [...picture('1280x720', 12, 2), ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8')],
    [...tone(2), ...words('-c:a libopus')],
  ],
  [
    'tracks in WebM and MP4',
    'p.mp4',
    's.webm',
    'h264+opus',
    [...picture(), ...h264],
    [...tone(), ...words('-c:a libopus')],
  ],
  [
    'tracks in fragments',
    'p.mp4',
    's.m4a',
    'h264+aac',
    [...picture(), ...h264, ...words('-movflags frag_keyframe+empty_moov')],
    [...tone(), ...aac, ...words('-movflags frag_keyframe+empty_moov -f mp4')],
  ],
  [
    'VP8 and Vorbis of their own',
    'p.webm',
    's.ogg',
    'h264+aac',
    [...picture(), ...words('-c:v libvpx -deadline realtime -cpu-used 8')],
    [...tone(), ...words('-c:a libvorbis')],
  ],
];

const soundKinds: readonly [string, string, readonly string[], string, string][] = [
  ['MP3', 'a.mp3', words('-c:a libmp3lame -b:a 64k'), 'mp3', 'aac'],
  ['MP3 with a changing rate', 'a.mp3', words('-c:a libmp3lame -q:a 5'), 'mp3', 'aac'],
  ['MP3 without a head', 'a.mp3', words('-c:a libmp3lame -b:a 64k -write_xing 0 -id3v2_version 0'), 'mp3', 'aac'],
  ['AAC in MP4', 'a.m4a', aac, 'mp3', 'aac'],
  ['AAC without a container', 'a.aac', aac, 'mp3', 'aac'],
  ['Opus in Ogg', 'a.opus', words('-c:a libopus'), 'mp3', 'aac'],
  ['Vorbis in Ogg', 'a.ogg', words('-c:a libvorbis'), 'mp3', 'aac'],
  ['FLAC', 'a.flac', words('-c:a flac'), 'mp3', 'aac'],
  ['WAV', 'a.wav', words('-c:a pcm_s16le'), 'mp3', 'aac'],
  ['AC-3', 'a.ac3', words('-c:a ac3'), 'mp3', 'aac'],
  ['Opus in WebM', 'a.weba', words('-c:a libopus -f webm'), 'mp3', 'aac'],
  ['AIFF', 'a.aiff', words('-c:a pcm_s16be'), 'mp3', 'aac'],
  ['ALAC in CAF', 'a.caf', words('-c:a alac'), 'mp3', 'aac'],
  ['Windows Media sound', 'a.wma', words('-c:a wmav2'), 'mp3', 'aac'],
  ['AMR', 'a.amr', words('-c:a libopencore_amrnb -ar 8000 -ac 1'), 'mp3', 'aac'],
  ['Vorbis in Matroska', 'a.mka', words('-c:a libvorbis'), 'mp3', 'aac'],
];

const sounds = soundKinds.flatMap(([name, file, coded, mp3, m4a]): SoundFilm[] => [
  film([`${name} as MP3`, file, mp3, [...tone(), ...coded], { output: 'mp3' }]),
  film([`${name} as M4A`, file, m4a, [...tone(), ...coded], { output: 'm4a' }]),
]);

const join = (first: string, second: string, mark: string) => (files: Map<string, Buffer>) => {
  const lines = (name: string) => (files.get(name)?.toString() ?? '').split('\n');
  const pieces = lines(second).filter(
    (line, index, all) => line.startsWith('#EXTINF') || all[index - 1]?.startsWith('#EXTINF'),
  );
  const before = lines(first).filter((line) => line !== '' && !line.includes('ENDLIST'));
  files.set(
    'film.m3u8',
    Buffer.from([...before, ...(mark === '' ? [] : [mark]), ...pieces, '#EXT-X-ENDLIST', ''].join('\n')),
  );
};
const inPieces: readonly Stream[] = [
  { name: 'HLS', runs: [[...both, ...usual, ...hls(), 'film.m3u8']], gives: 'h264+aac' },
  {
    name: 'HLS in one file',
    runs: [[...both, ...usual, ...hls('-hls_flags', 'single_file'), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS in fragments of MP4',
    runs: [[...both, ...usual, ...hls('-hls_segment_type', 'fmp4'), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS with HEVC',
    runs: [
      [
        ...both,
        ...words('-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=24'),
        ...aac,
        ...hls('-hls_segment_type', 'fmp4'),
        'film.m3u8',
      ],
    ],
    gives: 'hevc+aac',
  },
  { name: 'HLS with AC-3', runs: [[...both, ...h264, ...words('-c:a ac3'), ...hls(), 'film.m3u8']], gives: 'h264+aac' },
  {
    name: 'HLS in one piece',
    runs: [[...both, ...usual, ...words('-f hls -hls_time 60 -hls_playlist_type vod'), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS in tiny pieces',
    runs: [
      [...both, ...usual, ...words('-g 6 -keyint_min 6 -f hls -hls_time 0.5 -hls_playlist_type vod'), 'film.m3u8'],
    ],
    gives: 'h264+aac',
  },
  {
    name: 'HLS that begins at ten hours',
    runs: [[...both, ...usual, ...words('-output_ts_offset 36000'), ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS whose clock wraps',
    runs: [[...both, ...usual, ...words('-output_ts_offset 95440'), ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  {
    name: 'HLS that stands still',
    runs: [[...both, '-vf', "select='not(between(t,2,4))'", '-fps_mode', 'vfr', ...usual, ...hls(), 'film.m3u8']],
    gives: 'h264+aac',
  },
  { name: 'HLS without sound', runs: [[...picture(), ...h264, ...hls(), 'film.m3u8']], gives: 'h264' },
  {
    name: 'HLS of an encoder that was away',
    runs: [
      [...half, ...hls('-hls_segment_filename', 'one%d.ts'), 'one.m3u8'],
      [...half, ...words('-output_ts_offset 6'), ...hls('-hls_segment_filename', 'two%d.ts'), 'two.m3u8'],
    ],
    change: join('one.m3u8', 'two.m3u8', ''),
    gives: 'h264+aac',
    seconds: 8,
  },
  {
    name: 'HLS whose clock begins anew, as it says',
    runs: [
      [...half, ...hls('-hls_segment_filename', 'one%d.ts'), 'one.m3u8'],
      [...half, ...hls('-hls_segment_filename', 'two%d.ts'), 'two.m3u8'],
    ],
    change: join('one.m3u8', 'two.m3u8', '#EXT-X-DISCONTINUITY'),
    gives: 'h264+aac',
    seconds: 8,
  },
  {
    name: 'HLS whose clock begins anew without a word',
    runs: [
      [...half, ...hls('-hls_segment_filename', 'one%d.ts'), 'one.m3u8'],
      [
        ...picture('160x90', 12, 4),
        ...words('-f lavfi -i sine=frequency=300:duration=4'),
        '-vf',
        'negate',
        ...usual,
        ...hls('-hls_segment_filename', 'two%d.ts'),
        'two.m3u8',
      ],
    ],
    change: join('one.m3u8', 'two.m3u8', ''),
    gives: 'h264+aac',
    seconds: 8,
  },
  {
    name: 'HLS with an advertisement of another size',
    runs: [
      [...half, ...hls('-hls_segment_filename', 'one%d.ts'), 'one.m3u8'],
      [...picture('320x180', 12, 2), ...tone(2), ...usual, ...hls('-hls_segment_filename', 'two%d.ts'), 'two.m3u8'],
    ],
    change: join('one.m3u8', 'two.m3u8', '#EXT-X-DISCONTINUITY'),
    gives: 'h264+aac',
  },
  {
    name: 'HLS that is encrypted',
    runs: [
      [
        ...both,
        ...usual,
        ...hls('-hls_enc', '1', '-hls_enc_key', '0123456789abcdef', '-hls_enc_key_url', 'film.key'),
        'film.m3u8',
      ],
    ],
    change: (files) => {
      files.set('film.key', Buffer.from('0123456789abcdef'));
    },
    gives: 'h264+aac',
  },
  { name: 'HLS of sound', runs: [[...tone(), ...aac, ...hls(), 'film.m3u8']], output: 'm4a', gives: 'aac' },
  {
    name: 'HLS of sound without a container',
    runs: [
      [
        ...tone(),
        ...aac,
        ...words('-f segment -segment_time 2 -segment_list film.m3u8 -segment_list_type m3u8'),
        'piece%d.aac',
      ],
    ],
    output: 'm4a',
    gives: 'aac',
  },
  {
    name: 'HLS of silence without a container',
    runs: [
      [
        ...quiet,
        ...aac,
        ...words('-f segment -segment_time 2 -segment_list film.m3u8 -segment_list_type m3u8'),
        'piece%d.aac',
      ],
    ],
    output: 'mp3',
    gives: 'mp3',
  },
  {
    name: 'HLS of MP3',
    runs: [[...tone(), ...words('-c:a libmp3lame'), ...hls(), 'film.m3u8']],
    output: 'mp3',
    gives: 'mp3',
  },
];
const streams = inPieces.map((each): SoundFilm => ({
  describe: playlist('film.m3u8'),
  output: 'mp4',
  seconds,
  ...each,
}));

const manifests: readonly Stream[] = [
  { name: 'DASH', runs: [[...both, ...usual, ...dash('-use_timeline', '0')]], gives: 'h264+aac' },
  { name: 'DASH with a timeline', runs: [[...both, ...usual, ...dash('-use_timeline', '1')]], gives: 'h264+aac' },
  {
    name: 'DASH of WebM',
    runs: [
      [
        ...both,
        ...words('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -c:a libopus'),
        ...dash('-dash_segment_type', 'webm'),
      ],
    ],
    gives: 'vp9+opus',
  },
  {
    name: 'DASH as MP3',
    runs: [[...both, ...usual, ...dash('-use_timeline', '0')]],
    output: 'mp3' as const,
    gives: 'mp3',
  },
  {
    name: 'DASH whose sound ends early',
    runs: [[...picture(), ...tone(3), ...usual, ...dash('-use_timeline', '1')]],
    gives: 'h264+aac',
  },
];
const dashes = manifests.map((each): SoundFilm => ({
  describe: manifest('film.mpd'),
  output: 'mp4',
  seconds,
  ...each,
}));

const stillKinds: readonly [string, string, readonly string[], SoundFilm['change']?][] = [
  ['JPEG', 'a.jpg', []],
  ['JPEG in grey', 'a.jpg', words('-pix_fmt gray')],
  ['JPEG with every colour', 'a.jpg', words('-pix_fmt yuvj444p')],
  ['JPEG with zeros behind it', 'a.jpg', [], append('a.jpg', () => Buffer.alloc(4096))],
  [
    'JPEG with a map of brightness behind it',
    'a.jpg',
    [],
    append('a.jpg', (files) => files.get('a.jpg') ?? Buffer.alloc(0)),
  ],
  ['PNG', 'a.png', []],
  ['PNG with transparency', 'a.png', words('-pix_fmt rgba')],
  ['PNG of 16 bits', 'a.png', words('-pix_fmt rgb48be')],
  ['PNG in grey', 'a.png', words('-pix_fmt gray')],
  ['PNG with a palette', 'a.png', words('-pix_fmt pal8')],
  ['WebP', 'a.webp', words('-c:v libwebp')],
  ['WebP with transparency', 'a.webp', words('-c:v libwebp -pix_fmt yuva420p')],
  ['GIF', 'a.gif', []],
  ['BMP', 'a.bmp', []],
  ['TIFF', 'a.tiff', []],
  ['JPEG XL', 'a.jxl', []],
  ['JPEG 2000', 'a.jp2', []],
  ['a JPEG that is called PNG', 'a.png', words('-c:v mjpeg -f image2')],
];
const stills = [
  ...stillKinds.map(([name, file, coded, change]): SoundFilm => ({
    name: `a still: ${name}`,
    runs: [[...onePicture, ...coded, file]],
    describe: still(file),
    output: 'jpg',
    gives: 'mjpeg',
    ...(change && { change }),
  })),
  ...(['a.gif', 'a.webp', 'a.png'] as const).map((file): SoundFilm => ({
    name: `a still that moves: ${file}`,
    runs: [
      [
        ...picture('160x90', 5, 1),
        ...(file === 'a.png' ? words('-f apng') : file === 'a.webp' ? words('-c:v libwebp_anim') : []),
        file,
      ],
    ],
    describe: still(file),
    output: 'jpg',
    gives: 'mjpeg',
  })),
];

const plain: Row = ['', 'a.mp4', 'h264+aac', [...both, ...usual, ...fast]];
const titles = [
  '🎬🍿',
  'فيلم',
  'a/b\\c:d*e?"f<g>h|i',
  '--exec=touch x',
  '%(id)s %d',
  'x'.repeat(5000),
  'line\nline',
  '.',
  '映画　テスト',
].map((title, number) => film([`the title ${number + 1}`, plain[1], plain[2], plain[3], { title }]));
const announcements = ([undefined, 0, 5.5, 6.4, 7, 12, 3, 6.000001] as const).map((announced) =>
  film([`the duration ${announced ?? 'nothing'}`, plain[1], plain[2], plain[3], { seconds: announced }]),
);
/** Films as sound: whatever is beside it. */
const asSound = codecs
  .filter(([name], index) => index % 4 === 0 && !name.endsWith('without sound'))
  .flatMap(([name, file, , run, more]) => [
    film([`${name}, as MP3`, file, 'mp3', run, { ...more, output: 'mp3' }]),
    film([`${name}, as M4A`, file, 'aac', run, { ...more, output: 'm4a' }]),
  ]);

const split = tracks.map(([name, pictures, heard, gives, first, second]): SoundFilm => ({
  name,
  gives,
  seconds,
  output: 'mp4',
  describe: twoFiles(pictures, heard),
  runs: [
    [...first, pictures],
    [...second, heard],
  ],
}));

const behind = (bytes: Buffer) => append('a.mp4', () => bytes);
/** Without its first packets: the first pictures refer to ones that are not there. */
const cutBegin = (files: Map<string, Buffer>) => {
  const bytes = files.get('a.ts') ?? Buffer.alloc(0);
  files.set('a.ts', bytes.subarray(188 * Math.floor(bytes.length / 188 / 5)));
};
const more: readonly SoundFilm[] = [
  film(['three bytes behind it', 'a.mp4', 'h264+aac', plain[3], { change: behind(Buffer.from('xyz')) }]),
  film([
    'a note of a camera behind it',
    'a.mp4',
    'h264+aac',
    plain[3],
    { change: behind(Buffer.from('\0\0\xff\xffGPS of a camera', 'latin1')) },
  ]),
  film(['zeros behind it', 'a.mp4', 'h264+aac', plain[3], { change: behind(Buffer.alloc(100)) }]),
  film([
    'a recording that begins between two pictures',
    'a.ts',
    'h264+aac',
    [...both, ...usual],
    { change: cutBegin, seconds: undefined },
  ]),
  film([
    'open groups of pictures',
    'a.mp4',
    'h264+aac',
    [...both, ...words('-c:v libx264 -preset veryfast -bf 3 -x264-params open-gop=1:keyint=24'), ...aac],
  ]),
  film([
    'sound with a cover',
    'a.mp3',
    'mjpeg+mp3',
    [
      ...tone(),
      ...picture('160x90', 1, 1),
      ...words('-map 0 -map 1 -c:v mjpeg -disposition:v attached_pic -c:a libmp3lame'),
    ],
    { output: 'mp3' },
  ]),
  {
    ...film(['a turned picture', 'a.mp4', 'h264+aac', []]),
    runs: [
      [...both, ...usual, 'b.mp4'],
      [...words('-display_rotation 90 -i b.mp4 -c copy'), 'a.mp4'],
    ],
  },
  {
    ...film(['a piece cut out of a longer film', 'a.mp4', 'h264+aac', []]),
    seconds: 4,
    runs: [
      [...both, ...words('-c:v libx264 -preset veryfast -bf 2 -g 48'), ...aac, 'b.mp4'],
      [...words('-ss 2.3 -i b.mp4 -c copy'), 'a.mp4'],
    ],
  },
  {
    ...film(['a piece cut out, in a transport stream', 'a.ts', 'h264+aac', []]),
    seconds: 4,
    runs: [
      [...both, ...words('-c:v libx264 -preset veryfast -bf 2 -g 48'), ...aac, 'b.mp4'],
      [...words('-ss 2.3 -i b.mp4 -c copy'), 'a.ts'],
    ],
  },
  {
    name: 'HLS with sound of its own',
    output: 'mp4',
    gives: 'h264+aac',
    seconds,
    describe: playlist('film.m3u8'),
    runs: [
      [
        ...both,
        ...usual,
        ...hls('-var_stream_map', 'v:0,agroup:a a:0,agroup:a,language:en,default:yes', '-master_pl_name', 'film.m3u8'),
        'v%v.m3u8',
      ],
    ],
  },
  {
    name: 'HLS with two sizes',
    output: 'mp4',
    gives: 'h264+aac',
    seconds,
    describe: playlist('film.m3u8'),
    runs: [
      [
        ...both,
        ...words('-map 0:v -map 1:a -map 0:v -map 1:a'),
        ...usual,
        ...words('-s:v:1 80x46 -pix_fmt yuv420p -b:v:0 300k -b:v:1 100k'),
        ...hls('-var_stream_map', 'v:0,a:0 v:1,a:1', '-master_pl_name', 'film.m3u8'),
        'v%v.m3u8',
      ],
    ],
  },
  {
    name: 'HLS without an end mark',
    output: 'mp4',
    gives: 'h264+aac',
    seconds,
    describe: playlist('film.m3u8'),
    runs: [[...both, ...usual, ...hls(), 'film.m3u8']],
    change: (files) =>
      void files.set(
        'film.m3u8',
        Buffer.from((files.get('film.m3u8')?.toString() ?? '').replace('#EXT-X-ENDLIST\n', '')),
      ),
  },
];

export const soundFilms: readonly SoundFilm[] = [
  ...[...codecs, ...rhythms, ...sizes, ...layouts].map(film),
  ...split,
  ...sounds,
  ...streams,
  ...dashes,
  ...stills,
  ...titles,
  ...announcements,
  ...asSound,
  ...more,
  ...oddContainers,
  ...oddStreams,
];
