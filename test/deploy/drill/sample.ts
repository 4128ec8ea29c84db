/** The sample platform for a worker in its network, since yt-dlp's extractor takes it at 127.0.0.1 alone. Run in the image `full`. */

import type * as Programs from '../../../src/downloader/yt-dlp/programs.ts';
import type * as Platform from '../../../src/embedded/sample-platform/sample-platform.ts';

const source = '/app/src';
const { startSamplePlatform } = (await import(
  `${source}/embedded/sample-platform/sample-platform.ts`
)) as typeof Platform;
const { locateDownloader } = (await import(`${source}/downloader/yt-dlp/programs.ts`)) as typeof Programs;

const { ffmpegPath } = await locateDownloader({}, '/usr/bin');
await startSamplePlatform({ cacheDirectory: '/work/films', ffmpegPath, port: 8095 });
