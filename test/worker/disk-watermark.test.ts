import { expect, it } from 'vitest';
import { diskFreeBytes } from '../../src/system/disk.ts';
import { createDiskWatermark } from '../../src/worker/disk-watermark.ts';
import { rememberingLogger, silent } from '../projections/read-models-under-test.ts';
import { jsonLines } from '../support/log-lines.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('a worker without room stops, says so once, and begins again with a tenth more', async () => {
  const free: Record<string, number> = { '/work': 1_000, '/files': 1_000 };
  const { logger, text } = rememberingLogger();
  const disk = createDiskWatermark({
    directories: { work: '/work', files: '/files' },
    minFreeBytes: 100,
    logger,
    freeBytes: (directory) => Promise.resolve(free[directory] ?? 0),
  });
  const seen: boolean[] = [];
  for (const bytes of [101, 100, 99, 50, 100, 109, 110, 100, 99]) {
    free['/files'] = bytes;
    const answers = await Promise.all([disk.hasRoom(), disk.hasRoom()]);
    expect(new Set(answers).size).toBe(1);
    seen.push(answers[0]);
    expect(disk.isLow).toBe(!seen.at(-1));
  }
  expect(seen).toEqual([true, true, false, false, false, false, true, true, false]);
  const lines = jsonLines<{ free?: object }>(text());
  expect(lines.map(({ free: low }) => low)).toEqual([{ files: 99 }, undefined, { files: 99 }]);
});

it('room is asked of the file system, also for a directory that is not there yet', async () => {
  const directory = temporaryDirectory();
  const bytes = await diskFreeBytes(directory);
  expect(bytes).toBeGreaterThan(0);
  expect(await diskFreeBytes(`${directory}/not/there`)).toBeGreaterThan(0);
});

it('says why downloads wait while there is too little room', async () => {
  const mebibyte = 1024 * 1024;
  const free = { '/work': 3.5 * mebibyte, '/files': 30 * mebibyte };
  const disk = createDiskWatermark({
    directories: { work: '/work', files: '/files' },
    minFreeBytes: 20 * mebibyte,
    logger: silent,
    freeBytes: (directory) => Promise.resolve(free[directory as keyof typeof free]),
  });
  expect(await disk.whyWaiting()).toBe(
    'wait for free disk space: there are 3 MiB for unfinished files, of the 20 MiB in MIN_FREE_DISK_MIB',
  );
  free['/files'] = 0;
  expect(await disk.whyWaiting()).toContain('3 MiB for unfinished files and 0 MiB for finished files, of');
  free['/work'] = free['/files'] = 22 * mebibyte;
  expect(await disk.whyWaiting()).toBeUndefined();
});
