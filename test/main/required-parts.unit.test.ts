import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requireParts } from '../../src/main/required-parts.ts';
import type { Role } from '../../src/main/roles/role.ts';
import { readConfig } from '../../src/main/settings/config.ts';
import { ConfigurationRefused } from '../../src/main/settings/configuration-refused.ts';
import { type Machine, machineOf, machines } from '../../src/system/machine-parts.js';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const nowhere = '/nowhere';
const servers = { EVENTSTORE_URL: 'esdb://a:2113', DATABASE_URL: 'postgres://a/b', NATS_URL: 'nats://a' };

/** @returns the lines of what is lacking, without the packages that are not installed on the machine of the test */
function lacking(machine: Machine, variables: Record<string, string>, role: Role | 'all' = 'all'): string[] {
  try {
    requireParts(readConfig({ PATH: nowhere, ...variables }), role, machine);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    return error.message.split('\n').filter((line) => line.startsWith('  ') && !line.includes('not installed'));
  }
}

const kindOf = (kind: string): Machine => {
  const machine = machines[kind];
  if (machine === undefined) throw new Error(`There is no ${kind}.`);
  return machine;
};

/** A folder with these programs, for a PATH. */
function withPrograms(...names: string[]): string {
  const directory = join(temporaryDirectory(), 'bin');
  mkdirSync(directory);
  for (const name of names) {
    writeFileSync(join(directory, name), '#!/bin/sh\n');
    chmodSync(join(directory, name), 0o755);
  }
  return directory;
}

const natsIn = (install: string) =>
  `  nats-server: npm has none for this machine; run "${install} nats-server", or set NATS_URL or NATS_SERVER_PATH.`;
const downloadersIn = (install: string) =>
  `  yt-dlp, ffmpeg and ffprobe: npm has none for this machine; run "${install} yt-dlp ffmpeg", or set YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH.`;
const sandbox =
  '  a sandbox: nothing here keeps the files of this user, and the secret of this service, from yt-dlp and ffmpeg; ' +
  'run workers on Linux, or set SANDBOX=weak on a machine that holds nothing else.';
const rootOnMac =
  '  a user for Postgres: it does not run as root, and root cannot start it as another user here; ' +
  'run this as a user other than root, or set DATABASE_URL.';
const asRoot = process.getuid?.() === 0 ? [rootOnMac] : [];

describe('what a machine lacks', () => {
  it('is nothing on Linux on x64, where npm brings all of it', () => {
    expect(lacking(kindOf('linux-x64'), {})).toEqual([]);
  });

  it.each([
    ['linux-arm64', 'apt install', []],
    ['darwin-arm64', 'brew install', asRoot],
    ['darwin-x64', 'brew install', asRoot],
  ])(
    'is named at once on %s, with the command that installs it and the settings that replace it',
    (kind, install, also) => {
      expect(lacking(kindOf(kind), {})).toEqual([natsIn(install), downloadersIn(install), ...also]);
    },
  );

  it.each([
    ['linux-x64-musl', []],
    ['linux-arm64-musl', [natsIn('apk add'), downloadersIn('apk add')]],
  ])('has a Postgres of one’s own in it on %s', (kind, also) => {
    expect(lacking(kindOf(kind), {})).toEqual([
      '  Postgres: npm has none for this machine; set DATABASE_URL.',
      ...also,
    ]);
  });

  it('is every server and program on a machine that is not in the table', () => {
    const machine = machineOf({ platform: 'freebsd', arch: 'x64', isMusl: false });
    expect(lacking(machine, { DEMO: '0' })).toEqual([
      '  the event store: the embedded one needs Linux or macOS, which say who connects; set EVENTSTORE_URL.',
      '  Postgres: npm has none for this machine; set DATABASE_URL.',
      '  nats-server: npm has none for this machine; set NATS_URL or NATS_SERVER_PATH.',
      '  yt-dlp, ffmpeg and ffprobe: npm has none for this machine; set YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH.',
      ...asRoot,
      sandbox,
    ]);
  });

  it('is not what its user has installed, or given by address', () => {
    const mac = kindOf('darwin-arm64');
    const PATH = withPrograms('nats-server', 'yt-dlp', 'ffmpeg', 'ffprobe');
    expect(lacking(mac, { PATH })).toEqual(asRoot);
    expect(lacking(mac, { PATH: withPrograms('yt-dlp', 'ffmpeg') })).toEqual([
      natsIn('brew install'),
      downloadersIn('brew install'),
      ...asRoot,
    ]);
    expect(lacking(mac, { ...servers, PATH, SANDBOX: 'weak' })).toEqual([]);
  });

  it('is only what a role needs', () => {
    const arm = kindOf('linux-arm64');
    for (const role of ['api', 'projector', 'dispatcher'] as const) expect(lacking(arm, servers, role)).toEqual([]);
    expect(lacking(arm, servers, 'worker')).toEqual([downloadersIn('apt install')]);
  });

  it('is a sandbox on macOS, but for a demo that only this machine reaches, and where SANDBOX=weak allows that', () => {
    const PATH = withPrograms('nats-server', 'yt-dlp', 'ffmpeg', 'ffprobe');
    for (const kind of ['darwin-arm64', 'darwin-x64']) {
      const mac = kindOf(kind);
      expect(lacking(mac, { ...servers, PATH }, 'worker')).toEqual([sandbox]);
      expect(lacking(mac, { ...servers, PATH })).toEqual([sandbox]);
      expect(lacking(mac, { PATH, HOST: '0.0.0.0' })).toEqual([...asRoot, sandbox]);
      expect(lacking(mac, { PATH, DEMO: '0' })).toEqual([...asRoot, sandbox]);
      expect(lacking(mac, { ...servers, PATH, SANDBOX: 'weak' }, 'worker')).toEqual([]);
    }
  });
});
