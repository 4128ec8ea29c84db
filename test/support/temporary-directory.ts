import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { inMemoryIfPossible } from './memory-folder.ts';

/** A fresh folder, readable by this user only. Whoever makes it removes it. */
export function makeTemporaryDirectory(parent: string = tmpdir()): string {
  return realpathSync(mkdtempSync(join(parent, process.env['TEST_RUN'] ?? 'reeltally-test-')));
}

/** The same for the data of a server or of a whole service. Nothing in it has to survive a power cut. */
export const makeDataDirectory = (): string => makeTemporaryDirectory(inMemoryIfPossible());

/** A fresh folder that is removed when the running test has finished. */
export function temporaryDirectory(parent?: string): string {
  const directory = makeTemporaryDirectory(parent);
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

/** The same for the data of a service that the test starts itself. */
export const temporaryDataDirectory = (): string => temporaryDirectory(inMemoryIfPossible());

/** The same for the tests of one file: it is removed after them. */
export function temporaryDirectoryOfFile(parent?: string): string {
  const directory = makeTemporaryDirectory(parent);
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}
