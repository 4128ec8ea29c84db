import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyOf, installTree, treeSha256 } from '../../../src/downloader/yt-dlp/installed-tree.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A package with a program, a library that it would load, a link, and a licence. */
function makePackage(): string {
  const directory = join(temporaryDirectory(), 'package');
  mkdirSync(join(directory, 'lib/deep'), { recursive: true });
  writeFileSync(join(directory, 'program'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
  writeFileSync(join(directory, 'lib/deep/module.py'), 'value = 1\n');
  writeFileSync(join(directory, 'LICENSE'), 'free');
  symlinkSync('deep/module.py', join(directory, 'lib/module.py'));
  return directory;
}

/** A package, and how to install it into a folder of its own. */
async function makeInstallable() {
  const source = makePackage();
  const sha256 = await treeSha256(source);
  const options = { directory: join(temporaryDirectory(), 'installed'), name: 'package', sha256 };
  return { source, ...options, install: () => installTree(copyOf(source), options) };
}

const changes: Readonly<Record<string, (directory: string) => void>> = {
  'a byte of a program': (directory) => writeFileSync(join(directory, 'program'), '#!/bin/sh\necho ren\n'),
  'a byte of a module': (directory) => writeFileSync(join(directory, 'lib/deep/module.py'), 'value = 2\n'),
  'a byte of a licence': (directory) => writeFileSync(join(directory, 'LICENSE'), 'fred'),
  'where a link leads': (directory) => {
    rmSync(join(directory, 'lib/module.py'));
    symlinkSync('deep/other.py', join(directory, 'lib/module.py'));
  },
  'a file in the place of a link': (directory) => {
    rmSync(join(directory, 'lib/module.py'));
    writeFileSync(join(directory, 'lib/module.py'), '-> deep/module.py');
  },
  'a file more, which could be imported': (directory) => writeFileSync(join(directory, 'lib/deep/os.py'), ''),
  'a file less': (directory) => rmSync(join(directory, 'lib/deep/module.py')),
  'the name of a file': (directory) =>
    renameSync(join(directory, 'lib/deep/module.py'), join(directory, 'lib/deep/models.py')),
  'the folder of a file': (directory) =>
    renameSync(join(directory, 'lib/deep/module.py'), join(directory, 'module.py')),
};

describe('an installed folder', () => {
  test.each(Object.entries(changes))('is refused when this differs: %s', async (_what, change) => {
    const { source, directory, install } = await makeInstallable();
    change(source);
    await expect(install()).rejects.toThrow(/^its files have the SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}$/);
    expect(readdirSync(directory)).toEqual([]);
  });

  test.each(Object.entries(changes))('is made anew when this was changed in it: %s', async (_what, change) => {
    const { directory, sha256, install } = await makeInstallable();
    const target = await install();
    chmodSync(join(target, 'program'), 0o755);
    change(target);
    expect(await install()).toBe(target);
    expect(await treeSha256(target)).toBe(sha256);
    expect(readdirSync(directory)).toEqual([`package-${sha256.slice(0, 12)}`]);
  });

  test('does not follow what becomes of its source, can be read by all, and is not made twice', async () => {
    const { source, install } = await makeInstallable();
    const target = await install();
    appendFileSync(join(source, 'program'), 'echo more\n');
    expect(readFileSync(join(target, 'program'), 'utf8')).not.toContain('more');
    const modes = ['program', 'lib', 'LICENSE'].map((name) => statSync(join(target, name)).mode & 0o777);
    expect(modes).toEqual([0o555, 0o755, 0o444]);
    const made = statSync(target).ino;
    const many = await Promise.all([1, 2, 3].map(install));
    expect([...new Set(many), statSync(target).ino]).toEqual([target, made]);
  });

  test('is made once by many at a time', async () => {
    const { directory, install } = await makeInstallable();
    const many = await Promise.all([1, 2, 3, 4].map(install));
    expect(new Set(many).size).toBe(1);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('what a process left that was killed goes with the next', async () => {
    const source = makePackage();
    const directory = temporaryDirectory();
    const hoursAgo = Date.now() / 1_000 - 7_200;
    for (const name of ['making-old', 'making-new', 'of-the-operator']) mkdirSync(join(directory, name));
    for (const name of ['making-old', 'of-the-operator']) utimesSync(join(directory, name), hoursAgo, hoursAgo);
    await installTree(copyOf(source), { directory, name: 'package', sha256: await treeSha256(source) });
    const left = ['making-old', 'making-new', 'of-the-operator'].filter((name) => existsSync(join(directory, name)));
    expect(left).toEqual(['making-new', 'of-the-operator']);
  });
});
