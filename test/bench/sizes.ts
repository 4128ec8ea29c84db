import type { Pool } from 'pg';
import type { Bench } from './engines.ts';
import { perSecond, progress, ratio, series } from './figures.ts';
import type { Figure, Results } from './figures.ts';
import { httpCases } from './http-cases.ts';
import { measure } from './load.ts';
import { insertOthers, resetWindows } from './population.ts';
import type { BenchAccount } from './population.ts';

interface SizesOptions {
  rounds: number;
  seconds: number;
  /** Each with two jobs of its own in the read model. */
  accounts: readonly BenchAccount[];
  one: BenchAccount;
}

const sizes = [1_000, 1_000_000] as const;
/** The answer is in the cache by then: it is the look-up itself that is measured, and not yt-dlp. */
const lookups = 20;
const issued = 20;

/** Every endpoint with a thousand jobs in the read model, and with a million (and their accounts and keys). */
export async function benchSizes(
  bench: Bench,
  pool: Pool,
  { rounds, seconds, accounts, one }: SizesOptions,
): Promise<Results> {
  const api = await bench.startRole('api');
  await bench.startRole('worker');
  const figures: Figure[] = [];
  const cases = httpCases({ many: accounts, withFile: accounts, one }).filter(
    ({ name }) => !name.includes('connections'),
  );
  for (const size of sizes) {
    progress(`filling the read model up to ${size} jobs`);
    await insertOthers(pool, size - accounts.length * 2);
    // The first round warms everything up, and is not kept.
    for (let round = 0; round <= rounds; round += 1) {
      for (const { name, connections, requests } of cases) {
        progress(`${size} jobs, round ${round} of ${rounds}: ${name}`);
        await resetWindows(pool, 0);
        const measured = await measure({ url: api.url, processes: {} }, { connections, seconds, requests });
        if (round > 0) add(figures, { name: `${size} jobs: ${name}`, unit: 'requests/s', value: measured.perSecond });
      }
      progress(`${size} jobs, round ${round} of ${rounds}: metadata, keys`);
      const film = encodeURIComponent(`${bench.sampleUrl}/watch/bars`);
      const metadata = await timed(lookups, () => ask(api.url, one, `/video/metadata?url=${film}`));
      if (round > 0)
        add(figures, { name: `${size} jobs: metadata, one at a time`, unit: 'requests/s', value: metadata });
      const keys = await timed(issued, () => ask(api.url, accounts[round], '/auth/key', { label: 'bench' }));
      if (round > 0) add(figures, { name: `${size} jobs: keys, one at a time`, unit: 'requests/s', value: keys });
    }
  }
  const [few, many] = sizes;
  const ratios = figures
    .filter(({ name }) => name.startsWith(`${many} jobs`))
    .map(({ name, values }) => {
      const beside = figures.find((other) => other.name === name.replace(`${many} jobs`, `${few} jobs`));
      return ratio(`${name}: to ${few} jobs`, values, beside?.values ?? []);
    });
  return { ratios, figures };
}

function add(figures: Figure[], { name, unit, value }: { name: string; unit: string; value: number }): void {
  const known = figures.find((figure) => figure.name === name);
  if (known) known.values.push(value);
  else figures.push({ name, unit, values: [value] });
}

const timed = (times: number, work: () => Promise<void>) => perSecond(times, () => series(times, work));

async function ask(url: string, account: BenchAccount | undefined, path: string, body?: object): Promise<void> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${account?.keys[0]?.key ?? ''}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}
