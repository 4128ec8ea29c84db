import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = new URL('documents-in-zones.ts', import.meta.url).pathname;

it('invoices and credit notes are the same bytes in every time zone', { timeout: 120_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', program], {
    maxBuffer: 10_000_000,
  });
  const digests = JSON.parse(stdout) as { zone: string; offset: number; digest: string }[];
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(1);
  // Were the zones not taken on, the proof would be of one zone many times.
  expect(new Set(digests.map(({ offset }) => offset)).size).toBeGreaterThan(20);
  expect(digests.length).toBeGreaterThan(400);
});
