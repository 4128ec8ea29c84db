import { readFileSync } from 'node:fs';
import { parseVideoUrl } from '../../src/domain/parse-video-url.ts';
import { ratio, type Results } from './figures.ts';

const parsesPerRound = 100_000;
const file = new URL('../domain/platforms/platform-urls.json', import.meta.url);

/** How many addresses a process can read in a second of processor time, beside Node's own URL parser, which is a part of that. */
export function benchParser(rounds: number): Results {
  const { urls } = JSON.parse(readFileSync(file, 'utf8')) as { urls: { url: string }[] };
  const addresses = urls.map(({ url }) => url);
  const perSecond = (parse: (address: string) => unknown) => {
    const before = process.cpuUsage();
    for (let parsed = 0; parsed < parsesPerRound; parsed += 1) parse(addresses[parsed % addresses.length] ?? '');
    const { user, system } = process.cpuUsage(before);
    return parsesPerRound / ((user + system) / 1_000_000);
  };
  const bare = (address: string) => new URL(address);
  perSecond(parseVideoUrl);
  perSecond(bare);
  const values = Array.from({ length: rounds }, () => ({ ours: perSecond(parseVideoUrl), bare: perSecond(bare) }));
  const ours = values.map((round) => round.ours);
  const alone = values.map((round) => round.bare);
  return {
    ratios: [ratio('addresses read: parseVideoUrl / new URL()', ours, alone)],
    figures: [
      { name: 'addresses read by parseVideoUrl', unit: 'URLs per CPU second', values: ours },
      { name: 'addresses read by new URL() alone', unit: 'URLs per CPU second', values: alone },
    ],
  };
}
