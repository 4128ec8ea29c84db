import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/** A fresh folder, readable by this user only. Whoever makes it removes it. */
export function makeTemporaryDirectory(parent: string = tmpdir()): string {
  return realpathSync(mkdtempSync(join(parent, 'reeltally-test-')));
}

/** A fresh folder that is removed when the running test has finished. */
export function temporaryDirectory(): string {
  const directory = makeTemporaryDirectory();
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

/** The same for the tests of one file: it is removed after them. */
export function temporaryDirectoryOfFile(): string {
  const directory = makeTemporaryDirectory();
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}
