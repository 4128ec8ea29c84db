import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

import { isLongProof } from '../support/proof-scale.ts';

/**
 * Billing knows one zone, UTC. A process that runs anywhere on earth computes the same periods and writes the same invoices,
 * byte for byte: `periods-and-invoices.ts` does both in a process of each zone, and prints a digest.
 */
const run = promisify(execFile);
const program = new URL('periods-and-invoices.ts', import.meta.url).pathname;

const few = [
  'UTC',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Europe/Berlin',
  'Africa/Casablanca',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Pacific/Niue',
];

interface Digest {
  zone: string;
  /** Hours between this zone and UTC in January and in July of 2027: the process really runs in it. */
  offsets: number[];
  periods: string;
  invoices: string;
}

async function digestIn(zone: string): Promise<Digest> {
  const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    env: { ...process.env, TZ: zone },
  });
  return { zone, ...(JSON.parse(stdout) as Omit<Digest, 'zone'>) };
}

describe('in a process of any time zone', () => {
  const zones = isLongProof ? Intl.supportedValuesOf('timeZone') : few;

  it('every instant is in one period, and invoices are the same bytes', async () => {
    const digests: Digest[] = [];
    const rest = zones.values();
    await Promise.all(
      [0, 1].map(async () => {
        for (const zone of rest) digests.push(await digestIn(zone));
      }),
    );
    expect(digests).toHaveLength(zones.length);
    expect(new Set(digests.map(({ periods }) => periods)).size).toBe(1);
    expect(new Set(digests.map(({ invoices }) => invoices)).size).toBe(1);
    // Were the zone not taken on, the proof would be of one zone many times.
    const offsets = new Set(digests.map((digest) => digest.offsets.join()));
    expect(offsets.size).toBeGreaterThan(few.length / 2);
    if (isLongProof)
      console.log(`${String(zones.length)} zones of ${String(offsets.size)} different offsets: one digest`);
  }, 900_000);
});
