import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

import { openCell } from '../../src/downloader/sandbox/sandbox.ts';
import type { Cell } from '../../src/downloader/sandbox/sandbox.ts';
import { startKeeper } from '../../src/downloader/sandbox/reaper.ts';
import type { Keeper } from '../../src/downloader/sandbox/reaper.ts';
import { temporaryDirectoryOfFile } from './temporary-directory.ts';

/** The namespaces that this machine allows, for the tests of one file, with a keeper and a directory. */
export function cellOfFile(): { directory: string; keeper: Keeper; cell: () => Cell } {
  const directory = temporaryDirectoryOfFile();
  const keeper = startKeeper();
  let cell: Cell | undefined;
  beforeAll(async () => {
    cell = await openCell({ directory: join(directory, 'cell'), programs: [], readable: [] });
  });
  afterAll(async () => {
    keeper.close();
    await cell?.close();
  });
  const opened = () => {
    if (!cell) throw new Error('the cell is not open');
    return cell;
  };
  return { directory, keeper, cell: opened };
}
