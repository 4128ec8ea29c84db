import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { machineOf, machines, thisMachine } from '../../src/system/machine-parts.js';
import { codeIn, tableOf } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';

interface LockedPackage {
  version: string;
  optional?: boolean;
  os?: string | string[];
  cpu?: string | string[];
  libc?: string | string[];
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { packages: locked } = read('package-lock.json') as { packages: Record<string, LockedPackage | undefined> };
const { optionalDependencies: wanted } = read('package.json') as { optionalDependencies: Record<string, string> };

const listed = (value: string | string[] | undefined): string[] | undefined =>
  value === undefined ? undefined : [value].flat();
const kinds = Object.entries(machines).map(([kind, { packages }]) => {
  const [os = '', cpu = '', libc = os === 'linux' ? 'glibc' : undefined] = kind.split('-');
  return { kind, os, cpu, libc, packages: Object.values(packages) };
});
type Kind = (typeof kinds)[number];

/** Whether npm installs a package there: a field that a package does not have fits everywhere. */
const fits = ({ os, cpu, libc }: Kind, entry: LockedPackage): boolean =>
  (
    [
      [listed(entry.os), os],
      [listed(entry.cpu), cpu],
      [listed(entry.libc), libc],
    ] as const
  ).every(([allowed, found]) => allowed === undefined || (found !== undefined && allowed.includes(found)));

/** Those that are not for every machine. */
const ofMachines = Object.keys(wanted).filter((name) => locked[`node_modules/${name}`]?.os !== undefined);

describe('the table of machines', () => {
  it.each(kinds)('names for $kind what npm installs there, no more and no less', (kind) => {
    const installed = ofMachines.filter((name) => fits(kind, locked[`node_modules/${name}`]!));
    expect(installed.toSorted()).toEqual(kind.packages.toSorted());
  });

  it.each([...new Set(kinds.flatMap(({ packages }) => packages))])(
    'names %s as package.json and the lock do',
    (name) => {
      const entry = locked[`node_modules/${name}`];
      expect(entry).toMatchObject({ version: wanted[name], optional: true });
      expect(listed(entry?.os)).toHaveLength(1);
      expect(listed(entry?.cpu)).toHaveLength(1);
    },
  );

  it('is the one of the page on operations', () => {
    const columns = { node: 'Node', postgres: 'Postgres', natsServer: 'nats-server', downloader: 'yt-dlp, ffmpeg' };
    const inPage = tableOf('docs/operations.md', 'Machines').filter(({ machine = '' }) => machine !== 'Windows');
    const inCode = Object.values(machines).map(({ name, packages, install, hasSandbox }) => ({
      name,
      npm: Object.keys(packages).toSorted(),
      installs: 'natsServer' in packages ? '' : `${install} nats-server`,
      sandbox: hasSandbox ? 'yes' : 'none',
    }));
    const told = inPage.map((row) => ({
      name: row['machine']?.replace(' (Alpine)', ''),
      npm: Object.entries(columns)
        .flatMap(([part, column]) => (row[column] === 'npm' ? [part] : []))
        .toSorted(),
      installs: codeIn(row['nats-server']),
      sandbox: row['sandbox of downloads'],
    }));
    expect(told).toEqual(inCode);
  });

  it('finds this machine in it', () => {
    expect(Object.values(machines)).toContain(thisMachine());
  });

  it('knows Linux by its C library, and has no package for a machine that is not in it', () => {
    const arm = { platform: 'linux', arch: 'arm64' };
    expect(machineOf({ ...arm, isMusl: false })).toBe(machines['linux-arm64']);
    expect(machineOf({ ...arm, isMusl: true })).toBe(machines['linux-arm64-musl']);
    expect(machineOf({ platform: 'freebsd', arch: 'x64', isMusl: false })).toEqual({
      name: 'freebsd on x64',
      packages: {},
      install: '',
      hasSandbox: false,
      hasEventStore: false,
    });
    expect(machineOf({ platform: 'linux', arch: 'riscv64', isMusl: false })).toMatchObject({
      packages: {},
      hasSandbox: true,
      hasEventStore: true,
    });
  });
});

describe('the lock file', () => {
  it('keeps programs for glibc away from musl, and Node above all, which would stand first in the search path there', () => {
    // These packages do not say so themselves, so the lock does; if this fails, `npm install` has taken it out: put
    // "libc": ["glibc"] into these entries again.
    const programs = ['linux-x64', 'linux-arm64'].flatMap((kind) => {
      const { node, postgres } = machines[kind]?.packages ?? {};
      return [node, postgres];
    });
    expect(programs).not.toContain(undefined);
    expect(programs.map((name) => locked[`node_modules/${name ?? ''}`]?.libc)).toEqual(programs.map(() => ['glibc']));
  });
});
