import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOutputFile } from '../../src/client/output-file.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function save(file: string, text: string, options?: { isPrivate: boolean }): Promise<void> {
  const output = await openOutputFile(file, options);
  await output.handle.writeFile(text);
  await output.finish();
  await output.close();
}

const read = (file: string) => readFileSync(file, 'utf8');
const modeOf = (file: string) => statSync(file).mode & 0o777;
const isRoot = process.getuid?.() === 0;

describe('an output file', () => {
  it('is there once it is whole, and nothing else is', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'film.mp4');
    await save(file, 'a film');
    expect(read(file)).toBe('a film');
    expect(readdirSync(directory)).toEqual(['film.mp4']);
    const usual = join(directory, 'usual');
    writeFileSync(usual, '');
    expect(modeOf(file)).toBe(modeOf(usual));
  });

  it('is for this user alone where it is private', async () => {
    const file = join(temporaryDirectory(), 'ledger.csv');
    await save(file, 'cents', { isPrivate: true });
    expect(modeOf(file)).toBe(0o600);
  });

  it('replaces a file that exists, and has its mode', async () => {
    const file = join(temporaryDirectory(), 'ledger.csv');
    writeFileSync(file, 'an older one');
    chmodSync(file, 0o640);
    await save(file, 'cents', { isPrivate: true });
    expect([read(file), modeOf(file)]).toEqual(['cents', 0o640]);
  });

  it('leaves an older one as it was where it is not finished', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'film.mp4');
    writeFileSync(file, 'an older one');
    const output = await openOutputFile(file);
    await output.handle.writeFile('half a');
    await output.close();
    expect(read(file)).toBe('an older one');
    expect(readdirSync(directory)).toEqual(['film.mp4']);
  });

  it.each(['there already', 'still to come'])('is the one at the end of its links, %s', async (which) => {
    const directory = temporaryDirectory();
    const [folder, folderLink] = [join(directory, 'films'), join(directory, 'shelf')];
    mkdirSync(folder);
    symlinkSync('films', folderLink);
    // Relative to the folder of the second link itself, which a path by way of the first would miss.
    symlinkSync('../whole.mp4', join(folder, 'second'));
    symlinkSync(join(folderLink, 'second'), join(directory, 'first'));
    if (which === 'there already') writeFileSync(join(directory, 'whole.mp4'), 'an older one');
    await save(join(directory, 'first'), 'a film');
    expect(read(join(directory, 'whole.mp4'))).toBe('a film');
    expect(readlinkSync(join(directory, 'first'))).toBe(join(folderLink, 'second'));
    expect(readdirSync(directory).sort()).toEqual(['films', 'first', 'shelf', 'whole.mp4']);
    expect(readdirSync(folder)).toEqual(['second']);
  });

  it('is written straight into where it is a pipe, which stays one', async () => {
    const pipe = join(temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [text] = await Promise.all([readFile(pipe, 'utf8'), save(pipe, 'a film')]);
    expect(text).toBe('a film');
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it.each([
    ['folder', /^\S+folder is a folder: name a file in it$/],
    ['folder/', /^\S+folder\/ is a folder: name a file in it$/],
    ['link', /^\S+link is a folder: name a file in it$/],
    ['none/film.mp4', /^\S+none\/film\.mp4 cannot be written: ENOENT$/],
    ['film.mp4/', /^\S+film\.mp4\/ cannot be written: ENO(ENT|TDIR)$/],
    ['circle', /^\S+circle cannot be written: ELOOP$/],
  ])('cannot be %s', async (name, message) => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'folder'));
    symlinkSync('folder', join(directory, 'link'));
    symlinkSync('circle', join(directory, 'circle'));
    await expect(openOutputFile(`${directory}/${name}`)).rejects.toMatchObject({
      code: 'not_writable',
      message: expect.stringMatching(message) as string,
    });
    expect(readdirSync(directory).sort()).toEqual(['circle', 'folder', 'link']);
    expect(readdirSync(join(directory, 'folder'))).toEqual([]);
  });

  it('needs a name', async () => {
    await expect(openOutputFile('')).rejects.toMatchObject({ code: 'not_writable' });
  });

  it.skipIf(isRoot)('is not one that may not be written', async () => {
    const file = join(temporaryDirectory(), 'kept.csv');
    writeFileSync(file, 'kept', { mode: 0o400 });
    await expect(openOutputFile(file)).rejects.toThrow('cannot be written: EACCES');
  });

  it('that became a folder in the meantime is told', async () => {
    const file = join(temporaryDirectory(), 'film.mp4');
    const output = await openOutputFile(file);
    mkdirSync(file);
    await expect(output.finish()).rejects.toMatchObject({ code: 'not_writable' });
    await output.close();
    expect(readdirSync(file)).toEqual([]);
  });

  it('tells of a reader that goes away', async () => {
    const pipe = join(temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [reader, output] = await Promise.all([open(pipe, 'r'), openOutputFile(pipe)]);
    await reader.close();
    await expect(output.handle.writeFile('a film')).rejects.toThrow('EPIPE');
    await output.close();
  });
});
