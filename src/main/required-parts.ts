import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Machine, thisMachine } from '../system/machine-parts.js';
import { isRoot } from './downloader.ts';
import { isLocalDemo } from './downloader-sandbox.ts';
import type { Role } from './roles/role.ts';
import type { Config } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

interface Start {
  config: Config;
  role: Role | 'all';
  machine: Machine;
}

/** Something without which a start would fail later. */
interface Part {
  name: string;
  isNeeded: (start: Start) => boolean;
  /** The npm packages that bring it to a machine. */
  packages?: (machine: Machine) => readonly (string | undefined)[];
  /** Programs that the user of a machine may install, by the names under which package managers have them. */
  programs?: readonly string[];
  /** Why it is not there, where that is no matter of packages. */
  why?: string;
  instead: string;
}

const downloaders = [
  ['YTDLP_PATH', 'yt-dlp'],
  ['FFMPEG_PATH', 'ffmpeg'],
  ['FFPROBE_PATH', 'ffprobe'],
] as const;

const downloads = ({ role }: Start) => role === 'all' || role === 'worker';

const parts: readonly Part[] = [
  {
    name: 'the event store',
    isNeeded: ({ config, role, machine }) =>
      role === 'all' && config.EVENTSTORE_URL === undefined && !machine.hasEventStore,
    why: 'the embedded one needs Linux or macOS, which say who connects',
    instead: 'set EVENTSTORE_URL',
  },
  {
    name: 'Postgres',
    isNeeded: ({ config, role }) => role === 'all' && config.DATABASE_URL === undefined,
    packages: ({ packages }) => [packages.postgres],
    instead: 'set DATABASE_URL',
  },
  {
    name: 'nats-server',
    isNeeded: ({ config: { NATS_URL, NATS_SERVER_PATH, PATH }, role }) =>
      role === 'all' && NATS_URL === undefined && NATS_SERVER_PATH === undefined && !isOnPath('nats-server', PATH),
    packages: ({ packages }) => [packages.natsServer],
    programs: ['nats-server'],
    instead: 'set NATS_URL or NATS_SERVER_PATH',
  },
  {
    name: 'yt-dlp, ffmpeg and ffprobe',
    isNeeded: (start) =>
      downloads(start) &&
      !downloaders.every(
        ([setting, program]) => start.config[setting] !== undefined || isOnPath(program, start.config.PATH),
      ),
    packages: ({ packages }) => [packages.downloader],
    programs: ['yt-dlp', 'ffmpeg'],
    instead: `set ${downloaders.map(([setting]) => setting).join(', ')}`,
  },
  {
    name: 'a bucket for files',
    isNeeded: ({ config: { S3_BUCKET }, role }) => role !== 'projector' && S3_BUCKET !== undefined,
    packages: () => ['@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'],
    instead: 'set FILES_DIRECTORY in place of S3_BUCKET',
  },
  {
    name: 'a user for Postgres',
    isNeeded: ({ config, role, machine }) =>
      role === 'all' && config.DATABASE_URL === undefined && isRoot() && !machine.hasSandbox,
    why: 'it does not run as root, and root cannot start it as another user here',
    instead: 'run this as a user other than root, or set DATABASE_URL',
  },
  {
    name: 'a sandbox',
    isNeeded: (start) =>
      downloads(start) &&
      !start.machine.hasSandbox &&
      start.config.SANDBOX !== 'weak' &&
      !(start.role === 'all' && isLocalDemo(start.config)),
    why: 'nothing here keeps the files of this user, and the secret of this service, from yt-dlp and ffmpeg',
    instead: 'run workers on Linux, or set SANDBOX=weak on a machine that holds nothing else',
  },
];

const isOnPath = (program: string, path: string) =>
  path.split(delimiter).some((directory) => directory !== '' && existsSync(join(directory, program)));

function isInstalled(name: string): boolean {
  const { resolve } = createRequire(import.meta.url);
  return (resolve.paths(name) ?? []).some((directory) => existsSync(join(directory, name, 'package.json')));
}

/** @returns why a part is not there, and what to do; undefined if it is there */
function lack({ packages, programs, why, instead }: Part, machine: Machine): string | undefined {
  if (packages === undefined) return `${why ?? ''}; ${instead}`;
  const names = packages(machine);
  const missing = names.filter((name) => name !== undefined && !isInstalled(name));
  if (names.includes(undefined)) {
    const installing = programs && machine.install ? `run "${machine.install} ${programs.join(' ')}", or ` : '';
    return `npm has none for this machine; ${installing}${instead}`;
  }
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} not installed; run "npm ci" without --omit=optional, or ${instead}`;
}

/**
 * @throws {ConfigurationRefused} before anything is started, naming everything that this machine lacks, with the setting or the
 *   program in its place
 */
export function requireParts(config: Config, role: Role | 'all', machine: Machine = thisMachine()): void {
  const lacking = parts
    .filter(({ isNeeded }) => isNeeded({ config, role, machine }))
    .flatMap((part) => {
      const why = lack(part, machine);
      return why === undefined ? [] : [`  ${part.name}: ${why}.`];
    });
  if (lacking.length === 0) return;
  throw new ConfigurationRefused(
    ['This machine lacks what the service needs, so nothing was started.', ...lacking].join('\n') +
      `\nThis is ${machine.name}; docs/operations.md says what npm brings for each machine.`,
  );
}
