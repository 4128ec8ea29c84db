import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoOf, shareService } from '../http/shared-service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { codeBlocks } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';
import { installClient, type InstalledClient } from './installed-client.ts';

/** The package as its users have it: packed, installed elsewhere, compiled against and run. Its README is the program. */
const readme = 'src/client/README.md';
const service = shareService();

const directory = temporaryDirectoryOfFile();
let client: InstalledClient;
beforeAll(async () => {
  client = await installClient(directory);
});

const environment = (more: Record<string, string> = {}) => ({
  REELTALLY_URL: service.url,
  REELTALLY_KEY: demoOf(service).key,
  VIDEO_URL: service.sampleUrl('bars'),
  ...more,
});

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;

const block = (language: string, number = 0): string => {
  const found = codeBlocks(readme).filter((code) => code.language === language)[number];
  if (!found) throw new Error(`${readme} has no such block`);
  return found.text;
};

/** Compiles programs in the folder without emitting anything. @returns what the compiler complains about, line by line */
async function compile(programs: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(client.folder, name), text);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--ignoreConfig'];
  // Node's types are all that it has besides; the project's own copy stands for an installed one.
  const options = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022', '--types', 'node'];
  const typeRoots = ['--typeRoots', join(root, 'node_modules/@types')];
  const words = [compiler, ...strict, ...options, ...typeRoots, ...Object.keys(programs)];
  const { stdout } = await client.run(process.execPath, words);
  return stdout.split('\n').filter((line) => /^\S/.test(line));
}

describe('the package', () => {
  it('holds what was built, its README and the licence', () => {
    const modules = readdirSync(join(root, 'src/client')).filter((name) => name.endsWith('.ts'));
    const built = modules.flatMap((name) => ['js', 'd.ts'].map((kind) => `dist/${name.replace(/ts$/, kind)}`));
    const wanted = ['LICENSE', 'README.md', 'package.json', ...built].map((name) => `package/${name}`);
    expect(client.files).toEqual(wanted.sort());
  });

  it('has the version of the service, and asks for the dependencies that the service is tested with', () => {
    const [own, ofService] = ['src/client/package.json', 'package.json'].map((path) => readJson(join(root, path)));
    expect(own?.['version']).toBe(ofService?.['version']);
    const tested = ofService?.['dependencies'] as Record<string, string>;
    for (const [name, range] of Object.entries(own?.['dependencies'] as Record<string, string>))
      expect(range).toBe(`^${tested[name] ?? ''}`);
    expect(block('sh')).toBe(`npm install ./reeltally-client-${String(own?.['version'])}.tgz`);
  });

  it('compiles with what it exports, and with nothing else', async () => {
    const exports = Object.keys(readJson(join(root, 'src/client/package.json'))['exports'] as object);
    const names = exports.map((path) => path.replace('.', '@reeltally/client'));
    const table = [...readFileSync(join(root, readme), 'utf8').matchAll(/^\| `(@reeltally\/client[\w/-]*)` \|/gm)];
    expect(table.map(([, name]) => name).sort()).toEqual(names.toSorted());
    const complaints = await compile({
      'readme.ts': block('ts'),
      'parts.ts': names.map((name, index) => `export type * as part${String(index)} from '${name}';`).join('\n'),
      'inside.ts': `export type * as pause from '@reeltally/client/pause';`,
      'wrong.ts': block('ts').replace("quality: '360'", "quality: '361'"),
    });
    expect(complaints).toEqual([
      expect.stringMatching(/^inside\.ts.* TS2307: .*pause/) as string,
      expect.stringMatching(/^wrong\.ts.* TS2345: .*361/) as string,
    ]);
  });

  it('does what its README says, in a program', async () => {
    writeFileSync(join(client.folder, 'readme.ts'), block('ts'));
    const ran = await client.run(process.execPath, ['readme.ts'], environment());
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { size } = statSync(join(client.folder, 'film.mp4'));
    expect(ran.stdout).toMatch(new RegExp(`^.+: ${String(size)} bytes\n$`));
    const refused = await client.run(process.execPath, ['readme.ts'], environment({ REELTALLY_KEY: 'rtk_no' }));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/ \(unauthorized\)\n$/) as string });
  });

  it('does what its README says, at a shell', async () => {
    const ran = await client.run('sh', ['-euc', block('sh', 1)], environment());
    expect(ran.stderr).toBe('');
    const [credits, metadata, download] = JSON.parse(`[${ran.stdout.trim().replaceAll('}\n{', '},{')}]`) as object[];
    expect(credits).toMatchObject({ plan: 'enterprise' });
    expect(metadata).toMatchObject({ platform: 'sample', video_id: 'bars' });
    const { size } = statSync(join(client.folder, 'film.mp4'));
    expect(download).toMatchObject({ file: 'film.mp4', file_size_bytes: size, file_mime: 'video/mp4' });
  });
});

describe('its program', () => {
  const program = (words: readonly string[], given: Record<string, string> = environment()) =>
    client.run('node_modules/.bin/reeltally-client', words, given);

  it('charges a download once for a key that is given again', async () => {
    const { key } = await service.openAccount('dev_100');
    const words = ['download', service.sampleUrl('bars'), '-o', 'once.mp4', '--idempotency-key', 'order-1'];
    const given = environment({ REELTALLY_KEY: key });
    const [first, second] = [await program(words, given), await program(words, given)];
    expect(first.code).toBe(0);
    expect(second).toEqual(first);
    const credits = await program(['credits'], given);
    expect(JSON.parse(credits.stdout)).toMatchObject({ downloads: { used: 1 } });
  });

  it('says why there is no file, with the token of what is charged', async () => {
    mkdirSync(join(client.folder, 'empty'));
    const failed = await program(['download', service.sampleUrl('private'), '-o', 'empty/film.mp4']);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/^reeltally-client: .+ \(private_video\); request token [\w-]+\n$/);
    expect(readdirSync(join(client.folder, 'empty'))).toEqual([]);
    const nowhere = await program(['download', service.sampleUrl('bars'), '-o', 'none/film.mp4']);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringMatching(/ENOENT \(not_writable\)\n$/) as string });
  });

  it('takes the key from the environment, and refuses wrong words', async () => {
    expect(await program(['credits'], environment({ REELTALLY_KEY: '' }))).toMatchObject({ code: 2, stdout: '' });
    expect(await program(['credits'], environment({ REELTALLY_URL: 'example.com' }))).toMatchObject({ code: 2 });
    const withPassword = await program(['credits'], environment({ REELTALLY_URL: 'http://user:hidden@127.0.0.1' }));
    expect(withPassword).toMatchObject({ code: 2, stderr: expect.not.stringContaining('hidden') as string });
    expect(await program(['credits', '--key', 'rtk_1'], {})).toMatchObject({ code: 2 });
    for (const words of [[], ['refund'], ['refund', 'x'], ['metadata'], ['download', 'x'], ['metadata', 'x', 'y']])
      expect(await program(words)).toMatchObject({ code: 2, stdout: '' });
    expect(await program(['--help'], {})).toMatchObject({ code: 0, stderr: '' });
  });
});
