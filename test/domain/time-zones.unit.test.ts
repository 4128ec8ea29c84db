import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isLongProof } from '../support/proof-scale.ts';
import { inEachZone } from '../support/time-zones.ts';
import { type Digest, digestPeriodsAndInvoices } from './periods-and-invoices.ts';

/**
 * Billing knows one zone, UTC. A process anywhere on earth computes the same periods and writes the same invoices, byte for byte.
 */
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

/** The digest of a process that has been in a zone since its start. */
async function digestOfProcess(zone: string): Promise<Digest> {
  const env = { ...process.env, TZ: zone };
  const command = ['--disable-warning=ExperimentalWarning', program];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env });
  return JSON.parse(stdout) as Digest;
}

it('in any time zone every instant is in one period, and invoices are the same bytes', async () => {
  const zones = isLongProof ? Intl.supportedValuesOf('timeZone') : few;
  const digests = inEachZone(zones, digestPeriodsAndInvoices);
  const started = await Promise.all(['UTC', 'Pacific/Kiritimati'].map(digestOfProcess));
  const all = [...digests, ...started];
  expect(new Set(all.map(({ periods }) => periods)).size).toBe(1);
  expect(new Set(all.map(({ invoices }) => invoices)).size).toBe(1);
  // Were the zone not taken on, the proof would be of one zone many times.
  expect(started.map(({ offsets }) => offsets[0])).toEqual([0, 14]);
  const offsets = new Set(digests.map((digest) => digest.offsets.join()));
  expect(offsets.size).toBeGreaterThan(few.length / 2);
  if (isLongProof)
    console.log(`${String(zones.length)} zones of ${String(offsets.size)} different offsets: one digest`);
});
