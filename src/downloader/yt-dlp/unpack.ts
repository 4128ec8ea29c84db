/**
 * The bundled yt-dlp is one file. At every run it unpacks 77 MB into a temporary directory and starts itself again, which takes
 * half a second of processor time, and leaves the directory behind when it is killed. Here it unpacks itself once, and is then
 * started from the unpacked files. This depends on the internals of one build, the pinned one.
 */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Namespaces } from '../sandbox/launch.ts';
import type { Reaper } from '../sandbox/child-reaper.ts';
import { installTree } from './installed-tree.ts';
import { bundledYtDlpName, bundledYtDlpSha256 } from './programs.ts';
import { fileSha256 } from '../file-sha256.ts';
import { runSandboxed } from '../sandbox/run-sandboxed.ts';
import { sendSignal } from '../../system/processes.ts';
import { withDeadline } from '../../async/deadline.ts';

/** How to start yt-dlp: its own arguments come after `prefix`. */
export interface YtDlpCommand {
  command: string;
  prefix: readonly string[];
  environment: Readonly<Record<string, string>>;
}

/** The `treeSha256` of the files that the pinned build unpacks. */
const unpackedSha256 = '0517e87147eb43584b07995c6834328f331e4b0db81b6eb3d1cb8b7ce8c6ca5b';

const unpackTimeoutMs = 20_000;

/** Starts the packed yt-dlp so that it waits for its input, and moves its unpacked directory away. */
async function unpack(packedPath: string, loader: string, target: string, reaper: Reaper) {
  const temporary = await mkdtemp(`${target}-unpacking-`);
  const child = spawn(
    loader,
    ['--library-path', dirname(loader), packedPath, '--ignore-config', '--no-update', '--no-plugin-dirs', '-a', '-'],
    { detached: true, env: { TMPDIR: temporary, HOME: temporary }, stdio: ['pipe', 'ignore', 'pipe'] },
  );
  const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  if (child.pid !== undefined) reaper.watch(child.pid, { mark: 0 });
  child.stdin.on('error', () => undefined);
  // It prompts for its input only once everything is unpacked and Python runs.
  const asked = new Promise((resolve) => child.stderr.once('data', () => resolve('asked')));
  try {
    const outcome = await withDeadline(Promise.race([asked, ended]), unpackTimeoutMs, () => 'too late');
    const unpacked = (await readdir(temporary)).find((name) => name.startsWith('_MEI'));
    if (outcome !== 'asked' || unpacked === undefined) throw new Error('The downloader did not unpack itself.');
    await rename(join(temporary, unpacked), target);
  } finally {
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
    await ended;
    if (child.pid !== undefined) reaper.release(child.pid);
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Tries to start the unpacked yt-dlp in a fresh directory. A timeout counts as a success, since a busy machine is slow. */
async function starts(
  ytDlp: YtDlpCommand,
  { trialDirectory, reaper, namespaces }: Pick<Preparation, 'trialDirectory' | 'reaper' | 'namespaces'>,
): Promise<boolean> {
  const trial = await mkdtemp(join(trialDirectory, 'trial-'));
  let version = '';
  const result = await runSandboxed({
    command: ytDlp.command,
    arguments: [...ytDlp.prefix, '--ignore-config', '--version'],
    environment: ytDlp.environment,
    directory: trial,
    searchPath: [],
    timeoutMs: unpackTimeoutMs,
    signal: new AbortController().signal,
    maxOutputBytes: 64 * 1024,
    onLine: (line) => (version = line),
    reaper,
    namespaces,
  });
  await rm(trial, { recursive: true, force: true });
  return result.ending === 'timed_out' || (result.exitCode === 0 && /^\d{4}\.\d{2}\.\d{2}/.test(version));
}

export interface Preparation {
  ytDlpPath: string;
  /** For the unpacked files, which are kept between runs of the service. */
  directory: string;
  /** For the directory of the trial run. */
  trialDirectory: string;
  reaper: Reaper;
  /** The namespaces of the trial run. */
  namespaces?: Namespaces | undefined;
  onProblem: (error: unknown) => void;
}

/**
 * Prepares the cheapest way to start yt-dlp. For any build but the pinned one, and after any failure, it is the plain command,
 * which always works.
 */
export async function prepareYtDlp(options: Preparation): Promise<YtDlpCommand> {
  const { ytDlpPath, directory, reaper } = options;
  const plain: YtDlpCommand = { command: ytDlpPath, prefix: [], environment: {} };
  const packedPath = join(dirname(ytDlpPath), bundledYtDlpName);
  const sha256 = await fileSha256(packedPath).catch(() => undefined);
  if (sha256 !== bundledYtDlpSha256) return plain;
  const loader = join(dirname(ytDlpPath), '..', 'runtime', 'musl', 'ld-musl-x86_64.so.1');
  try {
    const place = { directory, name: 'yt-dlp', sha256: unpackedSha256 };
    const target = await installTree((path) => unpack(packedPath, loader, path, reaper), place);
    const unpacked: YtDlpCommand = {
      command: loader,
      // Not as an environment variable, because the programs that yt-dlp starts would then load its libraries.
      prefix: ['--library-path', target, packedPath],
      environment: {
        _PYI_ARCHIVE_FILE: packedPath,
        _PYI_APPLICATION_HOME_DIR: target,
        _PYI_PARENT_PROCESS_LEVEL: '0',
      },
    };
    await mkdir(options.trialDirectory, { recursive: true, mode: 0o700 });
    if (await starts(unpacked, options)) return unpacked;
    throw new Error('The unpacked yt-dlp does not start.');
  } catch (error) {
    options.onProblem(error);
    return plain;
  }
}
