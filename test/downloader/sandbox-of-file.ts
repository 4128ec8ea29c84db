import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Reaper, startReaper } from '../../src/downloader/sandbox/child-reaper.ts';
import { openSandbox, type Sandbox } from '../../src/downloader/sandbox/open-sandbox.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';

/** The namespaces that this machine allows, for the tests of one file, with a reaper and a directory. */
export function sandboxOfFile(): { directory: string; reaper: Reaper; sandbox: () => Sandbox } {
  const directory = temporaryDirectoryOfFile();
  const reaper = startReaper();
  let sandbox: Sandbox | undefined;
  beforeAll(async () => {
    sandbox = await openSandbox({ directory: join(directory, 'cell'), programs: [], readable: [] });
  });
  afterAll(async () => {
    reaper.close();
    await sandbox?.close();
  });
  const opened = () => {
    if (!sandbox) throw new Error('the sandbox is not open');
    return sandbox;
  };
  return { directory, reaper, sandbox: opened };
}
