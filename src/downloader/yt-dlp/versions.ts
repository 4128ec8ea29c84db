import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Namespaces } from '../sandbox/launch.ts';
import type { Reaper } from '../sandbox/reaper.ts';
import { runSandboxed } from '../sandbox/process.ts';
import { bundledYtDlpName, bundledYtDlpSha256, bundledYtDlpVersion } from './programs.ts';
import { fileSha256 } from '../file-sha256.ts';
import type { Engine } from './programs.ts';
import type { YtDlpCommand } from './unpacked.ts';

interface ProgramVersion {
  program: 'yt-dlp' | 'ffmpeg' | 'ffprobe' | 'deno';
  path: string;
  /** As the program itself says; null where it does not start. */
  version: string | null;
  /** SHA-256 of what runs, where it was asked for, and of what this version was tested with; null for a program of one's own. */
  sha256: string | null;
  expectedSha256: string | null;
}

export interface EngineState {
  programs: ProgramVersion[];
  /** Since the date that is yt-dlp's version; null where it has none. */
  ageDays: number | null;
}

/** Platforms change, and yt-dlp follows within days. */
export const oldEngineDays = 60;

const timeoutMs = 30_000;
const dayMs = 86_400_000;

/** @returns days since the day that a version of yt-dlp is called by, as in 2026.07.14 or 2026.07.14.233956 */
export function engineAgeDays(version: string | null, nowMs: number): number | null {
  const [, year, month, day] = /^(\d{4})\.(\d{1,2})\.(\d{1,2})(?:\.|$)/.exec(version ?? '') ?? [];
  if (year === undefined) return null;
  return Math.max(Math.floor((nowMs - Date.UTC(Number(year), Number(month) - 1, Number(day))) / dayMs), 0);
}

interface Inspection {
  engine: Engine;
  /** How yt-dlp is started; undefined: as it is, and not at all where its checksum tells its version. */
  ytDlp?: YtDlpCommand;
  /** For directories of its own; made if it is not there. */
  directory: string;
  namespaces: Namespaces;
  reaper: Reaper;
  nowMs: number;
  /** Whether checksums are told, for which some hundred megabytes are read. */
  checksums: boolean;
}

async function firstWord(
  { directory, namespaces, reaper }: Inspection,
  run: { command: string; arguments: readonly string[]; environment?: Readonly<Record<string, string>> },
): Promise<string | null> {
  const own = await mkdtemp(join(directory, 'version-'));
  try {
    let line: string | undefined;
    const { exitCode } = await runSandboxed({
      ...run,
      ...{ directory: own, searchPath: [], timeoutMs, namespaces, reaper, maxOutputBytes: 64 * 1024 },
      signal: new AbortController().signal,
      onLine: (next) => (line ??= next),
    });
    const word = /^(?:(?:ffmpeg|ffprobe) version |deno )?(\S{1,60})/.exec(line ?? '')?.[1];
    return exitCode === 0 ? (word ?? null) : null;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Asks each program for its version, in the namespaces in which it works, so that what does not start there shows. */
export async function inspectEngine(inspection: Inspection): Promise<EngineState> {
  const { engine, nowMs } = inspection;
  const ytDlp = inspection.ytDlp ?? { command: engine.ytDlpPath, prefix: [], environment: {} };
  await mkdir(inspection.directory, { recursive: true, mode: 0o700 });
  const deno = join(dirname(engine.ytDlpPath), 'deno');
  const hasDeno = await access(deno).then(
    () => true,
    () => false,
  );
  const asked = [
    {
      program: 'yt-dlp',
      path: engine.ytDlpPath,
      run: { ...ytDlp, arguments: [...ytDlp.prefix, '--ignore-config', '--version'] },
    },
    { program: 'ffmpeg', path: engine.ffmpegPath, run: { command: engine.ffmpegPath, arguments: ['-version'] } },
    { program: 'ffprobe', path: engine.ffprobePath, run: { command: engine.ffprobePath, arguments: ['-version'] } },
    ...(hasDeno ? [{ program: 'deno', path: deno, run: { command: deno, arguments: ['--version'] } } as const] : []),
  ] as const;
  const packed = join(dirname(engine.ytDlpPath), bundledYtDlpName);
  const packedSha256 = await fileSha256(packed).catch(() => null);
  const programs = await Promise.all(
    asked.map(async ({ program, path, run }) => {
      const isBundled = program === 'yt-dlp' && packedSha256 !== null;
      const isKnown = isBundled && packedSha256 === bundledYtDlpSha256 && inspection.ytDlp === undefined;
      return {
        program,
        path,
        version: isKnown ? bundledYtDlpVersion : await firstWord(inspection, run),
        sha256: isBundled ? packedSha256 : inspection.checksums ? await fileSha256(path).catch(() => null) : null,
        expectedSha256: isBundled ? bundledYtDlpSha256 : null,
      };
    }),
  );
  return { programs, ageDays: engineAgeDays(programs[0]?.version ?? null, nowMs) };
}
