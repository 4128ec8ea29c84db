import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Output } from '../../../src/domain/download-options.ts';
import { ownPlatformOfFile } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Which track of a film is delivered. The sounds are the same; they differ in what playlist and manifest say of them. */

const master = (...lines: string[]) => ['#EXTM3U', ...lines, ''].join('\n');
const sound = (
  name: string,
  more: string,
  uri: string | null = `${name.toLowerCase().replace(/\W/g, '')}/sound.m3u8`,
) => `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="${name}"${more}${uri === null ? '' : `,URI="${uri}"`}`;
const picture = (file = 'picture.m3u8', size = '320x180') =>
  `#EXT-X-STREAM-INF:BANDWIDTH=500000,RESOLUTION=${size},CODECS="avc1.42c00d,mp4a.40.2",AUDIO="a"\n${file}`;

/** Names sort the wanted track in front of and behind the others, and it stands first and last. */
const playlists = {
  'default-last': master(
    sound('Zulu', ',LANGUAGE="zu",DEFAULT=NO'),
    sound('English', ',LANGUAGE="en",DEFAULT=YES'),
    picture(),
  ),
  'default-first': master(sound('Bee', ',LANGUAGE="en",DEFAULT=YES'), sound('Zulu', ',LANGUAGE="zu"'), picture()),
  'first-language': master(sound('Bee', ',LANGUAGE="en"'), sound('Zulu', ',LANGUAGE="zu"'), picture()),
  described: master(
    sound('Zoe', ',LANGUAGE="en",DEFAULT=YES,CHARACTERISTICS="public.accessibility.describes-video"'),
    sound('Bee', ',LANGUAGE="en",DEFAULT=NO'),
    picture(),
  ),
  'described-by-name': master(
    sound('English', ',LANGUAGE="en"'),
    sound('English Audio Description', ',LANGUAGE="en"'),
    sound('English Commentary', ',LANGUAGE="en"'),
    picture(),
  ),
  inside: master(
    sound('Zulu', ',LANGUAGE="zu",DEFAULT=NO'),
    sound('English', ',LANGUAGE="en",DEFAULT=YES', null),
    picture('both.m3u8'),
  ),
  'only-described': master(
    sound('Zoe', ',LANGUAGE="en",CHARACTERISTICS="public.accessibility.describes-video"'),
    picture(),
  ),
};

const set = (file: string, kind: 'audio' | 'video', attributes: string, children = '') =>
  `<AdaptationSet contentType="${kind}" mimeType="${kind}/mp4" ${attributes}>${children}` +
  `<Representation id="${file}" bandwidth="${file === 'zulu' ? 200_000 : 64_000}" ` +
  `codecs="${kind === 'video' ? 'avc1.42c00d' : 'mp4a.40.2'}" ${kind === 'video' ? 'width="320" height="180"' : ''}>` +
  `<BaseURL>${kind === 'video' ? 'picture' : 'sound'}.mp4?${file}</BaseURL></Representation></AdaptationSet>`;
const role = (value: string) => `<Role schemeIdUri="urn:mpeg:dash:role:2011" value="${value}"/>`;
const manifest = (...sets: string[]) =>
  '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S">' +
  `<Period>${set('picture', 'video', '')}${sets.join('')}</Period></MPD>`;
const described = '<Accessibility schemeIdUri="urn:tva:metadata:cs:AudioPurposeCS:2007" value="1"/>';

const manifests = {
  'main-and-dub': manifest(
    set('zulu', 'audio', 'lang="zu"', role('dub')),
    set('english', 'audio', 'lang="en"', role('main')),
  ),
  'main-alone-is-named': manifest(
    set('zulu', 'audio', 'lang="zu"'),
    set('english', 'audio', 'lang="en"', role('main')),
  ),
  'first-language': manifest(set('english', 'audio', 'lang="en"'), set('zulu', 'audio', 'lang="zu"')),
  described: manifest(
    set('zulu', 'audio', 'lang="en"', `${role('alternate')}${described}`),
    set('english', 'audio', 'lang="en"', role('main')),
  ),
  'described-by-role': manifest(
    set('zulu', 'audio', 'lang="en"', role('description')),
    set('english', 'audio', 'lang="en"'),
  ),
  commentary: manifest(set('zulu', 'audio', 'lang="en"', role('commentary')), set('english', 'audio', 'lang="en"')),
  signed: manifest(set('zulu', 'video', '', role('sign')), set('english', 'audio', 'lang="en"')),
};

const rendition = (id: string, height: number) => ({
  id,
  path: `/files/both.mp4?${id}`,
  extension: 'mp4',
  width: (height * 16) / 9,
  height,
  videoCodec: 'avc1.42c00d',
  audioCodec: 'mp4a.40.2',
});
const renditions = [rendition('small', 180), rendition('large', 360)];
const withManySounds = [{ ...rendition('many', 360), path: '/files/many.mp4' }];

const own = ownPlatformOfFile((request, response) => {
  const path = (request.url ?? '').replace(/\?.*$/, '');
  const [, kind, name = '', file = ''] = path.split('/');
  const send = (type: string, body: string | Buffer) => response.writeHead(200, { 'Content-Type': type }).end(body);
  if (kind === 'api') {
    const [way = '', id = ''] = (path.split('/').at(-1) ?? '').split('--');
    if (way === 'files')
      return send(
        'application/json',
        JSON.stringify({ title: id, durationSeconds: 2, renditions: id === 'many' ? withManySounds : renditions }),
      );
    const place = way === 'hls' ? { playlistPath: `/hls/${id}/master.m3u8` } : { manifestPath: `/dash/${id}/film.mpd` };
    return send('application/json', JSON.stringify({ title: id, durationSeconds: 2, ...place }));
  }
  if (file === 'master.m3u8') return send('application/x-mpegurl', playlists[name as keyof typeof playlists]);
  if (file === 'film.mpd') return send('application/dash+xml', manifests[name as keyof typeof manifests]);
  return send(
    'application/octet-stream',
    readFileSync(join(own.platform.directory, 'tracks', path.split('/').at(-1) ?? '')),
  );
});

beforeAll(async () => {
  const { platform } = own;
  const directory = join(platform.directory, 'tracks');
  mkdirSync(directory);
  const make = (...given: string[]) =>
    execFileSync(platform.engine.ffmpegPath, ['-v', 'error', '-y', ...given], { cwd: directory });
  const pictures = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=2'];
  const sounds = ['-f', 'lavfi', '-i', 'sine=duration=2'];
  const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
  const hls = (name: string) => [
    '-f',
    'hls',
    '-hls_time',
    '4',
    '-hls_segment_filename',
    `${name}%d.ts`,
    `${name}.m3u8`,
  ];
  make(...pictures, ...h264, ...hls('picture'));
  make(...sounds, '-c:a', 'aac', ...hls('sound'));
  make(...pictures, ...sounds, ...h264, '-c:a', 'aac', ...hls('both'));
  make(...pictures, ...sounds, ...h264, '-c:a', 'aac', 'both.mp4');
  const dub = ['-metadata:s:a:1', 'language=fra', '-disposition:a:1', 'dub'];
  const many = ['-map', '0', '-map', '1', '-map', '1', '-c:a', 'aac', ...dub];
  make(...pictures, ...sounds, ...h264, ...many, 'many.mp4');
  make(...pictures, ...h264, 'picture.mp4');
  make(...sounds, '-c:a', 'aac', 'sound.mp4');
});

async function choiceOf(id: string, output: Output, tried: readonly string[] = []): Promise<string> {
  const video = own.videoOf(id);
  const result = await own.platform.usualSource.download(
    video,
    { output, quality: 'best', item: 1 },
    { directory: temporaryDirectory(), signal: new AbortController().signal, onProgress: () => undefined, tried },
  );
  return result.ok ? (result.detail ?? '') : `${result.reason}: ${result.detail}`;
}

describe.each(['mp4', 'm4a', 'mp3'] as const)('of a film with several sounds, as %s', (output) => {
  test.each<[string, RegExp, RegExp]>([
    ['hls--default-last', /\(en, /, /\(zu, /],
    ['hls--default-first', /\(en, /, /\(zu, /],
    ['hls--first-language', /\(en, /, /\(zu, /],
    ['hls--described', /Bee/, /Zoe/],
    ['hls--described-by-name', /English/, /Description|Commentary/],
    ['dash--main-and-dub', /english/, /zulu \(/],
    ['dash--main-alone-is-named', /english/, /zulu \(/],
    ['dash--first-language', /english/, /zulu \(/],
    ['dash--described', /english/, /zulu \(/],
    ['dash--described-by-role', /english/, /zulu \(/],
    ['dash--commentary', /english/, /zulu \(/],
    ['dash--signed', /english/, /zulu \(/],
  ])('%s is delivered as it was made', async (id, wanted, unwanted) => {
    const choice = await choiceOf(id, output);
    expect(choice).toMatch(wanted);
    expect(choice).not.toMatch(unwanted);
  });

  test('the original inside the picture is not replaced by a dub of its own', async () => {
    const choice = await choiceOf('hls--inside', output);
    expect(choice).toMatch(/320×180/);
    expect(choice).not.toMatch(/Zulu/);
  });

  test('the other sounds of a file that was fetched are said', async () => {
    const choice = await choiceOf('files--many', output);
    expect(choice).toMatch(/^many \(640×360, .*\); also in what was fetched: audio \(aac, fra, dub\)$/);
  });

  test('what there is alone is delivered, and said', async () => {
    expect(await choiceOf('hls--only-described', output)).toMatch(/described, commented or signed/);
  });
});

describe('what earlier attempts have tried in vain', () => {
  const large = 'large/http/360//';
  const small = 'small/http/180//';

  test.each<[readonly string[], RegExp]>([
    [[], /^large/],
    [[large], /^small/],
    [[small], /^large/],
    // There is nothing else.
    [[large, small], /^large.*tried before/],
    [[large, large, small], /^small.*tried before/],
  ])('%j comes last', async (tried, wanted) => {
    expect(await choiceOf('files--two', 'mp4', tried)).toMatch(wanted);
  });

  test('never makes way for a dub: the picture changes, the only original sound stays', async () => {
    const tried = ['a-English/m3u8_native///en'];
    const choice = await choiceOf('hls--default-last', 'mp4', tried);
    expect(choice).toMatch(/English \(en, m3u8_native, tried before/);
  });
});
