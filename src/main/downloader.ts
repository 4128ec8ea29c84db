import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findNewerYtDlp } from '../downloader/yt-dlp/newer.ts';
import { type DownloaderPrograms, installDownloader, locateDownloader } from '../downloader/yt-dlp/programs.ts';
import { othersCanReach, sharedDirectory } from '../system/access-of-other-users.ts';
import type { Config } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

export const workDirectoryOf = ({ WORK_DIRECTORY, dataDirectory }: Config): string =>
  WORK_DIRECTORY ?? join(dataDirectory, 'work');

/** The programs that run, and the folder of their verified copies, in which plugins are installed for children as well. */
export interface InstalledDownloader extends DownloaderPrograms {
  directory: string;
}

export const isRoot = () => process.getuid?.() === 0;

/** True if other users can reach a folder, which need not exist yet. */
export function othersCanPassTo(directory: string): boolean {
  const parent = dirname(directory);
  return existsSync(parent) ? othersCanReach(parent) : othersCanPassTo(parent);
}

/** In order of preference. Other users, as whom root runs children, may not be able to reach the data folder. */
function downloaderDirectories(config: Config): string[] {
  if (config.ENGINE_DIRECTORY !== undefined) return [config.ENGINE_DIRECTORY];
  const own = join(workDirectoryOf(config), 'engine');
  // The first start closes the data folder to other users.
  const isOpen = config.WORK_DIRECTORY !== undefined && othersCanPassTo(config.WORK_DIRECTORY);
  return isRoot() && !isOpen ? [join(sharedDirectory, 'engine'), own] : [own];
}

/**
 * Makes a folder, and its parent, that other users can pass but not list. Folders above are closed to them, except the shared one.
 * Folders that exist already stay unchanged.
 */
export async function passable(directory: string, setting: string): Promise<string> {
  try {
    const isShared = directory.startsWith(`${sharedDirectory}/`);
    if (!isShared) await mkdir(dirname(dirname(directory)), { recursive: true, mode: 0o700 });
    for (const each of [...(isShared ? [sharedDirectory] : []), dirname(directory), directory]) {
      if ((await mkdir(each, { recursive: true })) !== undefined) await chmod(each, 0o711);
    }
    return directory;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationRefused(`A folder for downloads cannot be made; set ${setting} to another one: ${why}`);
  }
}

async function openDownloaderDirectory(config: Config): Promise<string> {
  if (config.WORK_DIRECTORY !== undefined) await mkdir(config.WORK_DIRECTORY, { recursive: true, mode: 0o711 });
  const [first = '', ...others] = downloaderDirectories(config);
  const open = (directory: string) => passable(directory, 'ENGINE_DIRECTORY');
  return await others.reduce((before, next) => before.catch(() => open(next)), open(first));
}

const installed = new WeakMap<Config, Promise<InstalledDownloader>>();

/**
 * Locates the programs that processes use: a yt-dlp that an operator has installed in place of the pinned one, if there is one.
 *
 * @throws {DownloaderUnusable} if a program is missing, or is not the expected one
 */
export async function findDownloader(config: Config): Promise<InstalledDownloader> {
  const tested = await findTestedDownloader(config);
  const newer = config.YTDLP_PATH === undefined ? await findNewerYtDlp(tested.directory) : undefined;
  return newer === undefined ? tested : { ...tested, ytDlpPath: newer };
}

/**
 * Locates the programs, and copies and verifies those of npm: once per process, which has one configuration.
 *
 * @throws {DownloaderUnusable} if a program is missing, or is not the expected one
 */
export function findTestedDownloader(config: Config): Promise<InstalledDownloader> {
  const { YTDLP_PATH, FFMPEG_PATH, FFPROBE_PATH, PATH } = config;
  const given = { ytDlpPath: YTDLP_PATH, ffmpegPath: FFMPEG_PATH, ffprobePath: FFPROBE_PATH };
  const find = async () => {
    const located = await locateDownloader(given, PATH);
    const directory = await openDownloaderDirectory(config);
    return { ...(await installDownloader(located, { directory })), directory };
  };
  const found = installed.get(config) ?? find();
  installed.set(config, found);
  return found;
}
