import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { downloadFrom, platformOfFile } from '../../support/sample-platform.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const platform = platformOfFile();
/** A good film and a good still. Fetched together: a busy machine meets the end of a connection that has been kept for later. */
let good: Readonly<Record<'mp4' | 'jpg', Buffer>>;
beforeAll(async () => {
  const fetched = async (file: string) =>
    Buffer.from(await (await fetch(`${platform.url}/media/${file}`)).arrayBuffer());
  good = { mp4: await fetched('bars/360p.mp4'), jpg: await fetched('stills/still1.jpg') };
});

/** What an engine that was taken over leaves as its finished file; it says that all went well. */
const finished: Readonly<Record<string, string>> = {
  'a playlist':
    'printf "#EXTM3U\\n#EXT-X-TARGETDURATION:5\\n#EXTINF:5,\\nfile:///etc/hostname\\n#EXT-X-ENDLIST\\n" > media.mp4',
  'a playlist of the network': 'printf "#EXTM3U\\n#EXTINF:5,\\nhttp://127.0.0.1:1/x\\n#EXT-X-ENDLIST\\n" > media.mp4',
  'a list of files': 'printf "ffconcat version 1.0\\nfile /etc/hostname\\n" > media.mp4',
  'a link': 'ln -s /etc/hostname media.mp4',
  'a link to a good film': 'ln -s "$GOOD" media.mp4',
  'a second name of a file outside': 'ln "$GOOD" media.mp4 2>/dev/null || : > media.mp4',
  'a folder': 'mkdir media.mp4',
  'a pipe': 'mkfifo media.mp4',
  'a socket or device': 'mknod media.mp4 c 1 5 2>/dev/null || : > media.mp4',
  'an empty file': ': > media.mp4',
  'a file of holes': 'dd if=/dev/zero of=media.mp4 bs=1 count=1 seek=9M 2>/dev/null',
  'a beginning': 'head -c 3000 "$GOOD" > media.mp4',
  'the wrong form': 'printf "RIFF....AVI " > media.mp4; head -c 100000 /dev/urandom >> media.mp4',
  'two files': 'cp "$GOOD" media.mp4; cp "$GOOD" other.mp4',
  nothing: ':',
};

/** The same in the place of a still. */
const stills: Readonly<Record<string, string>> = {
  'a pipe': 'mkfifo media.webp',
  'a link to a good still': 'ln -s "$GOOD" media.jpg',
  'a folder': 'mkdir media.png',
  'two pictures': 'cp "$GOOD" media.jpg; cp "$GOOD" media.webp',
  'the beginning of one': 'head -c 3000 "$GOOD" > media.jpg',
};

const all = [
  ...Object.entries(finished).map(([what, script]) => ({ what, script, output: 'mp4' }) as const),
  ...Object.entries(stills).map(([what, script]) => ({ what, script, output: 'jpg' }) as const),
];

test.each(all)('$what is no finished $output', async ({ script, output }) => {
  const folder = temporaryDirectory();
  const goodFile = join(folder, 'good');
  writeFileSync(goodFile, good[output]);
  const ytDlpPath = join(folder, 'yt-dlp');
  const metadata = JSON.stringify({ title: 'x', duration: 10, thumbnail: null, is_live: false });
  writeFileSync(
    ytDlpPath,
    ['#!/bin/sh', `GOOD='${goodFile}'; PATH=/usr/bin:/bin; cd media`, script, `echo 'META ${metadata}'`].join('\n') +
      "\necho 'PARTS [{}]'\necho 'DONE \"media.mp4\"'\nexit 0\n",
  );
  chmodSync(ytDlpPath, 0o755);
  const directory = join(folder, 'attempt');
  mkdirSync(directory);
  const source = platform.source({}, { ytDlpPath });
  const result = await downloadFrom(source, platform.reference('bars'), { output, quality: '360' }, directory);
  expect(result).toMatchObject({ ok: false });
  expect(readFileSync(goodFile)).toEqual(good[output]);
  expect(readdirSync(folder).toSorted()).toEqual(['attempt', 'good', 'yt-dlp']);
});
