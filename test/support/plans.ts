import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const usual = {
  plan: 'test',
  name: 'Test',
  fee_cents: 0,
  downloads_limit: 10_000,
  metadata_limit: 10_000,
  overage_cents: null as number | null,
  hourly_limit: 500,
};

/**
 * A plan file with one plan, called `test`, for tests whose counts no plan of the real file has room for, and with others that
 * have names of their own. It is removed after the tests of the file that asked for it.
 */
export function planFile(
  terms: Partial<typeof usual>,
  ...others: (Partial<typeof usual> & { plan: string })[]
): string {
  const directory = mkdtempSync(join(tmpdir(), 'reeltally-plans-'));
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });
  const file = join(directory, 'plans.json');
  writeFileSync(
    file,
    JSON.stringify({ rate_version: 'test', plans: [terms, ...others].map((each) => ({ ...usual, ...each })) }),
  );
  return file;
}
