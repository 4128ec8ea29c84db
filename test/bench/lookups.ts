import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pluginsDirectory } from '../support/sample-platform.ts';
import type { Bench } from './engines.ts';
import { progress, ratio, type Results } from './figures.ts';
import type { BenchAccount } from './population.ts';

/** The first one of a worker waits until yt-dlp is loaded, and is not kept. */
const items = ['bars', 'vertical', 'hls', 'dash'] as const;

/** Metadata of videos that an idle worker has not seen yet, through the API, beside the bare yt-dlp command. */
export async function benchLookups(
  bench: Bench,
  { account, rounds }: { account: BenchAccount; rounds: number },
): Promise<Results> {
  const api = await bench.startRole('api');
  const [ours, bare]: [number[], number[]] = [[], []];
  for (let round = 1; round <= rounds; round += 1) {
    progress(`metadata of ${items.length} videos, round ${round} of ${rounds}`);
    // A new one has seen nothing.
    const worker = await bench.startRole('worker');
    for (const [index, item] of items.entries()) {
      const address = `${bench.sampleUrl}/watch/${item}`;
      const ourMs = await milliseconds(() => ask(api.url, account, address));
      const bareMs = await milliseconds(() => askBare(bench, address));
      if (index === 0) continue;
      ours.push(ourMs);
      bare.push(bareMs);
    }
    await worker.stop();
  }
  return {
    ratios: [ratio('metadata of a video seen first: time to that of the bare yt-dlp command', ours, bare)],
    figures: [
      { name: 'metadata of a video seen first', unit: 'ms', values: ours },
      { name: 'yt-dlp -j of the same', unit: 'ms', values: bare },
    ],
  };
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

async function ask(url: string, { keys: [key] }: BenchAccount, address: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/video/metadata?url=${encodeURIComponent(address)}`, {
    headers: { authorization: `Bearer ${key?.key ?? ''}` },
  });
  if (!response.ok) throw new Error(`the metadata of ${address} was refused: ${await response.text()}`);
}

const askBare = ({ ytDlpPath }: Bench, address: string) =>
  promisify(execFile)(ytDlpPath, [
    ...['--ignore-config', '--no-update', '--plugin-dirs', pluginsDirectory, '-j', '--', address],
  ]);
