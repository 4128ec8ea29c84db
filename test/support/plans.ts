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
 * A plan file with one plan, called `test`, for tests whose counts no plan of the real file has room for. It is removed after
 * the tests of the file that asked for it.
 *
 * @param warningPercents without any, nobody is warned: a warning is two more events of the usage stream, one of them later
 */
export function planFile(terms: Partial<typeof usual>, warningPercents: readonly number[] = []): string {
  const directory = mkdtempSync(join(tmpdir(), 'reeltally-plans-'));
  afterAll(() => {
    rmSync(directory, { recursive: true });
  });
  const path = join(directory, 'plans.json');
  const plans = [{ ...usual, ...terms }];
  writeFileSync(path, JSON.stringify({ rate_version: 'test', warning_percents: warningPercents, plans }));
  return path;
}
