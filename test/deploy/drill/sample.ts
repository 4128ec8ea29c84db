/** The sample platform for other containers: it listens on loopback alone, so that its port is passed on. Run in the image `full`. */

import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import type * as Programs from '../../../src/downloader/yt-dlp/programs.ts';
import type * as Platform from '../../../src/embedded/sample-platform/sample-platform.ts';

const port = 8095;
const source = '/app/src';
const { startSamplePlatform } = (await import(
  `${source}/embedded/sample-platform/sample-platform.ts`
)) as typeof Platform;
const { locateDownloader } = (await import(`${source}/downloader/yt-dlp/programs.ts`)) as typeof Programs;

const { ffmpegPath } = await locateDownloader({}, '/usr/bin');
await startSamplePlatform({ cacheDirectory: '/work/films', ffmpegPath, port });
const [outside] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4');
createServer((socket) => {
  const inside = connect(port, '127.0.0.1');
  for (const [one, other] of [
    [socket, inside],
    [inside, socket],
  ] as const) {
    one.on('error', () => other.destroy());
    one.pipe(other);
  }
}).listen(port, outside?.address);
