import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type EarlierRun, readEarlierRun } from './comparison.ts';
import { detailsOf, tableOf } from './tables.ts';

const claims = { name: '202 until claimed, median', unit: 'ms', values: [3, 3.1, 3.2, 3.1] };
const audit = { name: 'audit', unit: 'events/s', values: [40_000, 30_000] };
const alone = { name: 'bare readAll', unit: 'events/s', values: [90_000] };

const earlier: EarlierRun = {
  started: '2026-11-30T10:00:00.000Z',
  ratios: [],
  figures: [
    { ...claims, values: [6, 6.2, 6.4, 6.2] },
    { ...audit, values: [34_000, 40_000] },
  ],
};

describe('a table of the bench', () => {
  it('has a column of goals if a figure has a goal', () => {
    expect(tableOf('figure', [claims, audit]).split('\n')).toEqual([
      '| figure | median | spread | goal |',
      '|---|---|---|---|',
      '| 202 until claimed, median | 3.10 ms | ± 3 % | ≤ 4.00 ms: reached |',
      '| audit | 35 000 events/s | ± 14 % |  |',
    ]);
  });

  it('has none otherwise', () => {
    expect(tableOf('figure', [alone]).split('\n')).toEqual([
      '| figure | median | spread |',
      '|---|---|---|',
      '| bare readAll | 90 000 events/s |  |',
    ]);
  });

  it('puts an earlier run beside this one, and says what is more than noise', () => {
    expect(tableOf('figure', [claims, audit, alone], earlier).split('\n')).toEqual([
      '| figure | before | now | change | beyond the noise | goal |',
      '|---|---|---|---|---|---|',
      '| 202 until claimed, median | 6.20 ms ± 3 % | 3.10 ms ± 3 % | 0.500 × | yes | ≤ 4.00 ms: reached |',
      '| audit | 37 000 events/s ± 8 % | 35 000 events/s ± 14 % | 0.946 × | no |  |',
      '| bare readAll | – | 90 000 events/s |  |  |  |',
    ]);
  });

  it('is printed as data too', () => {
    expect(detailsOf(claims, earlier)).toEqual({
      ...claims,
      goal: { atMost: 4 },
      verdict: 'reached',
      before: [6, 6.2, 6.4, 6.2],
      change: 0.5,
      exceedsNoise: true,
    });
    expect(detailsOf(alone, earlier)).toEqual(alone);
  });
});

describe('the file of an earlier run', () => {
  const fileWith = (text: string): string => {
    const path = join(temporaryDirectory(), 'earlier.json');
    writeFileSync(path, text);
    return path;
  };

  it('is what the bench printed, with a value that could not be measured, or of a run beside another one', () => {
    const figures = [detailsOf(claims, earlier), { ...alone, values: [NaN] }];
    const path = fileWith(JSON.stringify({ ...earlier, minutes: 14.2, loadBefore: 0.1, figures }));
    expect(readEarlierRun(path)).toEqual({ ...earlier, figures: [claims, { ...alone, values: [NaN] }] });
  });

  it.each(['{"ratios": []}', '> reeltally@0.1.0 bench\n{}', ''])('is not %j', (text) => {
    expect(() => readEarlierRun(fileWith(text))).toThrow(/no result of the bench\. Make one with "npm run -s bench/);
  });

  it('is asked for before anything is measured', async () => {
    const main = fileURLToPath(new URL('main.ts', import.meta.url));
    const missing = join(temporaryDirectory(), 'missing.json');
    const run = promisify(execFile)(process.execPath, [main, '--compare', missing]);
    await expect(run).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /missing\.json' is invalid\. The file cannot be read \(ENOENT\)\. Make one with/,
      ) as string,
    });
  });
});
