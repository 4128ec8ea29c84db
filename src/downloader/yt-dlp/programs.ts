import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join, relative } from 'node:path';
import { thisMachine } from '../../system/machine-parts.js';
import { folderInPackage } from '../../system/package-folder.ts';
import { copyOf, installTree, TreeDiffers } from './installed-tree.ts';

/** The `treeSha256` of the pinned version of the one package that brings yt-dlp, ffmpeg, ffprobe and deno. */
export const bundleSha256 = '4e507388a72126376f9ce7d3346706e3a3bafae976ffe2225ad012bc4b8ab3d1';

/**
 * SHA-256 of yt-dlp in the pinned version of the package, which is the nightly build 2026.07.14 for musl. The file `yt-dlp`
 * beside it is only a loader that starts it.
 */
export const bundledYtDlpSha256 = '8f5d14830ffcfc2a45de3c13b0e5158bc228d8d00bc58df2196d0d14e01d7023';
export const bundledYtDlpName = 'yt-dlp.musl';
export const bundledYtDlpVersion = '2026.07.14.233956';

export interface DownloaderPrograms {
  ytDlpPath: string;
  ffmpegPath: string;
  ffprobePath: string;
}

/** A downloader is missing or damaged; the message says what to do. */
export class DownloaderUnusable extends Error {
  override readonly name = 'DownloaderUnusable';
}

const tools = [
  { property: 'ytDlpPath', program: 'yt-dlp', setting: 'YTDLP_PATH' },
  { property: 'ffmpegPath', program: 'ffmpeg', setting: 'FFMPEG_PATH' },
  { property: 'ffprobePath', program: 'ffprobe', setting: 'FFPROBE_PATH' },
] as const;

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (await isExecutable(path)) return path;
  return undefined;
}

/** @returns undefined where npm has no such package for this machine, or it is not installed */
export function bundlePackageDirectory(): string | undefined {
  const { downloader } = thisMachine().packages;
  return downloader && folderInPackage(`${downloader}/package.json`);
}

/**
 * Copies npm's package, hashes every file of the copy, and returns the programs of the copy instead of the package's. Programs
 * from other places stay there, unchecked: the operator who names them trusts them.
 *
 * @param options.directory for the copy, which is made once and kept
 * @param options.packageDirectory of the npm package; undefined if it is not installed
 * @throws {DownloaderUnusable} when a file of the package was changed, added or taken away
 */
export async function installDownloader(
  located: DownloaderPrograms,
  {
    directory,
    packageDirectory = bundlePackageDirectory(),
  }: { directory: string; packageDirectory?: string | undefined },
): Promise<DownloaderPrograms> {
  const paths = tools.map(({ property }) => located[property]);
  if (packageDirectory === undefined || !paths.some((path) => path.startsWith(`${packageDirectory}/`))) return located;
  const from = packageDirectory;
  const copy = await installTree(copyOf(from), { directory, name: 'bundle', sha256: bundleSha256 }).catch(
    (error: unknown) => {
      if (!(error instanceof TreeDiffers)) throw error;
      throw new DownloaderUnusable(
        `The package ${thisMachine().packages.downloader ?? from} is not the one that this version was tested with: ${error.message}. ` +
          'Run "npm ci" again, or set YTDLP_PATH, FFMPEG_PATH and FFPROBE_PATH to programs that you trust.',
      );
    },
  );
  const inCopy = (path: string) => (path.startsWith(`${from}/`) ? join(copy, relative(from, path)) : path);
  const { ytDlpPath, ffmpegPath, ffprobePath } = located;
  return { ytDlpPath: inCopy(ytDlpPath), ffmpegPath: inCopy(ffmpegPath), ffprobePath: inCopy(ffprobePath) };
}

/**
 * Finds the three programs: an explicit path first, then the npm package, then the search path (a PATH variable).
 *
 * @throws {DownloaderUnusable} when one is missing.
 */
export async function locateDownloader(
  explicit: { ytDlpPath?: string | undefined; ffmpegPath?: string | undefined; ffprobePath?: string | undefined },
  searchPath: string,
): Promise<DownloaderPrograms> {
  const bundle = bundlePackageDirectory();
  const found: DownloaderPrograms = { ytDlpPath: '', ffmpegPath: '', ffprobePath: '' };
  for (const { property, program, setting } of tools) {
    const given = explicit[property];
    const directories = [
      ...(bundle === undefined ? [] : [join(bundle, 'bin')]),
      ...searchPath.split(delimiter).filter((part) => part !== ''),
    ];
    const candidates = given === undefined ? directories.map((directory) => join(directory, program)) : [given];
    const path = await firstExecutable(candidates);
    if (path === undefined) {
      throw new DownloaderUnusable(
        given === undefined
          ? `${program} was not found. Install it, or set ${setting} to its path; on Linux on x64 "npm ci" brings it.`
          : `${setting} is ${given}, which is not an executable file.`,
      );
    }
    found[property] = path;
  }
  return found;
}
