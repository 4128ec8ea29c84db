import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DataDirectoryRefused, dataFormat, lockDataDirectory } from '../../src/embedded/data-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startOwner } from './owned.ts';

describe('the data folder', () => {
  it('is made for this user only, with the number of its format', () => {
    const path = join(temporaryDirectory(), 'deep', 'data');
    const held = lockDataDirectory(path);
    expect(held.path).toBe(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(path, 'format'), 'utf8')).toBe(`${dataFormat}\n`);
    held.release();
    held.release();
  });

  it('is refused while another process has it, which is named', async () => {
    const path = temporaryDirectory();
    const owner = startOwner('data-directory', path);
    await owner.ready;
    expect(() => lockDataDirectory(path)).toThrow(`in use by process ${owner.pid}`);
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(path, link);
    expect(() => lockDataDirectory(link)).toThrow(DataDirectoryRefused);
    await owner.kill();
    lockDataDirectory(path).release();
  });

  it('is refused while this process has it already', () => {
    const path = temporaryDirectory();
    const held = lockDataDirectory(path);
    expect(() => lockDataDirectory(path)).toThrow(`in use by process ${process.pid}`);
    held.release();
    lockDataDirectory(path).release();
  });

  it.each([
    ['0', 'an older version'],
    [String(dataFormat + 1), 'a newer version'],
    ['seven', 'an unknown version'],
  ])('of format %s is refused as that of %s, and not held', (format, words) => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'format'), format);
    expect(() => lockDataDirectory(path)).toThrow(words);
    expect(() => lockDataDirectory(path)).toThrow('Start the version that wrote it');
  });

  it('is not any folder with other files in it', () => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'thesis.txt'), '');
    expect(() => lockDataDirectory(path)).toThrow('thesis.txt');
    expect(existsSync(join(path, 'format'))).toBe(false);
  });

  it('must be a folder', () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, '');
    expect(() => lockDataDirectory(path)).toThrow(DataDirectoryRefused);
  });
});
