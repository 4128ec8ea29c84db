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
 * have names of their own. Nobody is warned, because a warning is two more events of the usage stream, one of them later;
 * unless `warningPercents` says so. It is removed after the tests of the file that asked for it.
 */
export function planFile(
  { warningPercents = [], ...terms }: Partial<typeof usual> & { warningPercents?: readonly number[] },
  ...others: (Partial<typeof usual> & { plan: string })[]
): string {
  const directory = mkdtempSync(join(tmpdir(), 'reeltally-plans-'));
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });
  const file = join(directory, 'plans.json');
  const plans = [terms, ...others].map((each) => ({ ...usual, ...each }));
  writeFileSync(file, JSON.stringify({ rate_version: 'test', warning_percents: warningPercents, plans }));
  return file;
}
