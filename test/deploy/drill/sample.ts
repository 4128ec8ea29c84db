/** The sample platform for the worker in whose container it runs: worker.sh. All workers share its films. */

import type * as Programs from '../../../src/downloader/yt-dlp/programs.ts';
import type * as Platform from '../../../src/embedded/sample-platform/sample-platform.ts';

const source = '/app/src';
const { startSamplePlatform } = (await import(
  `${source}/embedded/sample-platform/sample-platform.ts`
)) as typeof Platform;
const { locateDownloader } = (await import(`${source}/downloader/yt-dlp/programs.ts`)) as typeof Programs;

const { ffmpegPath } = await locateDownloader({}, '/usr/bin');
await startSamplePlatform({ cacheDirectory: '/work/films', ffmpegPath, port: 8095 });
