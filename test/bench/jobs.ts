import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { WantedFile } from '../../src/ports/videos.ts';
import { downloadFrom, pluginsDirectory, startTestPlatform, type TestPlatform } from '../support/sample-platform.ts';
import { type Figure, progress, ratio, type Results } from './figures.ts';
import { processorMicros } from './processor-time.ts';

interface Job {
  name: string;
  item: string;
  wanted: WantedFile;
  /** What a person would tell yt-dlp, to get the same file. */
  bareArguments: readonly string[];
}

const film = ['-f', 'bv*+ba/b', '-S', 'res:720,vcodec:h264,acodec:aac', '--merge-output-format', 'mp4'];
export const jobs: readonly Job[] = [
  { name: 'MP4 of a file', item: 'bars', wanted: { output: 'mp4', quality: '720', item: 1 }, bareArguments: film },
  { name: 'MP4 of HLS', item: 'hls', wanted: { output: 'mp4', quality: '720', item: 1 }, bareArguments: film },
  {
    name: 'MP3',
    item: 'bars',
    wanted: { output: 'mp3', quality: 'best', item: 1 },
    bareArguments: ['-f', 'ba/b', '-x', '--audio-format', 'mp3', '--audio-quality', '192K'],
  },
];

/** A job, contained and checked, beside nothing but the bare command on the same item: time on the clock and of the processors. */
export async function benchJobs(rounds: number): Promise<Results> {
  const platform = await startTestPlatform();
  const ratios: Figure[] = [];
  const figures: Figure[] = [];
  try {
    for (const job of jobs) {
      const [ours, bare] = [measured(), measured()];
      // One round is thrown away: it makes the films and unpacks the engine.
      for (let round = 0; round <= rounds; round += 1) {
        progress(`${job.name}, round ${round} of ${rounds}`);
        await ours.run(round, () => runOurs(platform, job));
        await bare.run(round, () => runBare(platform, job));
      }
      ratios.push(
        ratio(jobsRatio(job, 'time'), ours.wallMs, bare.wallMs),
        ratio(jobsRatio(job, 'processor time'), ours.processorMs, bare.processorMs),
      );
      figures.push(
        { name: `${job.name}, time`, unit: 'ms', values: ours.wallMs },
        { name: `${job.name}, processor time`, unit: 'ms', values: ours.processorMs },
      );
    }
  } finally {
    await platform.close();
  }
  return { ratios, figures };
}

export const jobsRatio = ({ name }: Job, what: 'time' | 'processor time'): string =>
  `${name}, ${what}: to the bare yt-dlp command`;

function measured() {
  const wallMs: number[] = [];
  const processorMs: number[] = [];
  return {
    wallMs,
    processorMs,
    async run(round: number, work: () => Promise<void>): Promise<void> {
      const [startedMs, usedMicros] = [performance.now(), processorMicros(process.pid)];
      await work();
      if (round === 0) return;
      wallMs.push(performance.now() - startedMs);
      processorMs.push((processorMicros(process.pid) - usedMicros) / 1000);
    },
  };
}

const sources = new WeakMap<TestPlatform, ReturnType<TestPlatform['source']>>();

async function runOurs(platform: TestPlatform, { item, wanted }: Job): Promise<void> {
  const source = sources.get(platform) ?? platform.source();
  sources.set(platform, source);
  const directory = mkdtempSync(join(platform.directory, 'job-'));
  const result = await downloadFrom(source, platform.reference(item), wanted, directory);
  if (!result.ok) throw new Error(`${result.reason}: ${result.detail}`);
}

async function runBare(platform: TestPlatform, { item, bareArguments }: Job): Promise<void> {
  const directory = mkdtempSync(join(platform.directory, 'bare-'));
  const { ytDlpPath, ffmpegPath } = platform.engine;
  await promisify(execFile)(ytDlpPath, [
    ...['--ignore-config', '--no-update', '--plugin-dirs', pluginsDirectory, '--ffmpeg-location', ffmpegPath],
    ...['-q', '-P', directory, ...bareArguments, '--', platform.reference(item).canonicalUrl],
  ]);
}
