import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeTemporaryFolder } from '../../system/disk.ts';
import { fileSha256 } from '../file-sha256.ts';
import type { Reaper } from '../sandbox/child-reaper.ts';
import type { Namespaces } from '../sandbox/launch.ts';
import { runSandboxed } from '../sandbox/run-sandboxed.ts';
import { startTimeoutMs } from '../start-timeout.ts';
import { testedSha256Of } from './newer.ts';
import { bundledYtDlpName, bundledYtDlpSha256, bundledYtDlpVersion, type DownloaderPrograms } from './programs.ts';
import type { YtDlpCommand } from './unpack.ts';

/** Platforms change, and yt-dlp follows within days. */
export const oldEngineDays = 60;

const dayMs = 86_400_000;

/** @returns days since the date of a yt-dlp version, such as 2026.07.14 or 2026.07.14.233956 */
export function downloaderAgeDays(version: string | null, nowMs: number): number | null {
  const [, year, month, day] = /^(\d{4})\.(\d{1,2})\.(\d{1,2})(?:\.|$)/.exec(version ?? '') ?? [];
  if (year === undefined) return null;
  return Math.max(Math.floor((nowMs - Date.UTC(Number(year), Number(month) - 1, Number(day))) / dayMs), 0);
}

interface Inspection {
  programs: DownloaderPrograms;
  /** The command that starts yt-dlp. Undefined: the program itself, which is not started if its checksum tells its version. */
  ytDlp?: YtDlpCommand;
  /** For directories of its own; made if it is not there. */
  directory: string;
  namespaces: Namespaces;
  reaper: Reaper;
  nowMs: number;
  /** Report checksums too, for which some hundred megabytes are read. */
  checksums: boolean;
}

async function firstWord(
  { directory, namespaces, reaper }: Inspection,
  run: { command: string; arguments: readonly string[]; environment?: Readonly<Record<string, string>> },
): Promise<string | null> {
  await using own = await makeTemporaryFolder(join(directory, 'version-'));
  let line: string | undefined;
  const { exitCode } = await runSandboxed({
    ...run,
    directory: own.path,
    searchPath: [],
    timeoutMs: startTimeoutMs,
    namespaces,
    reaper,
    maxOutputBytes: 64 * 1024,
    signal: new AbortController().signal,
    onLine: (next) => (line ??= next),
  });
  const word = /^(?:(?:ffmpeg|ffprobe) version |deno )?(\S{1,60})/.exec(line ?? '')?.[1];
  return exitCode === 0 ? (word ?? null) : null;
}

/**
 * Asks each program for its version, in the namespaces of downloads, so that a program that does not start there is found.
 *
 * @returns ageDays: since the date in yt-dlp's version; null if it has none
 */
export async function inspectDownloader(inspection: Inspection) {
  const { programs: paths, nowMs } = inspection;
  const ytDlp = inspection.ytDlp ?? { command: paths.ytDlpPath, prefix: [], environment: {} };
  await mkdir(inspection.directory, { recursive: true, mode: 0o700 });
  const deno = join(dirname(paths.ytDlpPath), 'deno');
  const hasDeno = await access(deno).then(
    () => true,
    () => false,
  );
  const asked = [
    {
      program: 'yt-dlp',
      path: paths.ytDlpPath,
      run: { ...ytDlp, arguments: [...ytDlp.prefix, '--ignore-config', '--version'] },
    },
    { program: 'ffmpeg', path: paths.ffmpegPath, run: { command: paths.ffmpegPath, arguments: ['-version'] } },
    { program: 'ffprobe', path: paths.ffprobePath, run: { command: paths.ffprobePath, arguments: ['-version'] } },
    ...(hasDeno ? [{ program: 'deno', path: deno, run: { command: deno, arguments: ['--version'] } } as const] : []),
  ] as const;
  const packed = join(dirname(paths.ytDlpPath), bundledYtDlpName);
  const packedSha256 = await fileSha256(packed).catch(() => null);
  const programs = await Promise.all(
    asked.map(async ({ program, path, run }) => {
      const isBundled = program === 'yt-dlp' && packedSha256 !== null;
      const isKnown = isBundled && packedSha256 === bundledYtDlpSha256 && inspection.ytDlp === undefined;
      return {
        program,
        path,
        /** The version that the program prints; null if it does not start. */
        version: isKnown ? bundledYtDlpVersion : await firstWord(inspection, run),
        /** SHA-256 of the installed file, if requested, and of the file that this version was tested with; null for other programs. */
        sha256: isBundled ? packedSha256 : inspection.checksums ? await fileSha256(path).catch(() => null) : null,
        expected_sha256:
          (program === 'yt-dlp' ? testedSha256Of(path) : undefined) ?? (isBundled ? bundledYtDlpSha256 : null),
      };
    }),
  );
  return { programs, ageDays: downloaderAgeDays(programs[0]?.version ?? null, nowMs) };
}
