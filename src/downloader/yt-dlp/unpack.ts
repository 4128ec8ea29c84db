/**
 * The bundled yt-dlp is one file. At every run it unpacks 77 MB into a temporary directory and starts itself again, which takes
 * half a second of processor time, and leaves the directory behind when it is killed. Here it unpacks itself once, and is then
 * started from the unpacked files. This depends on the internals of one build, the pinned one.
 */

import { spawn } from 'node:child_process';
import { readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withDeadline } from '../../async/deadline.ts';
import { makeTemporaryFolder } from '../../system/disk.ts';
import { sendSignal } from '../../system/processes.ts';
import { fileSha256 } from '../file-sha256.ts';
import type { Reaper } from '../sandbox/child-reaper.ts';
import { startTimeoutMs } from '../start-timeout.ts';
import { installTree } from './installed-tree.ts';
import { bundledYtDlpName, bundledYtDlpSha256 } from './programs.ts';

/** How to start yt-dlp: its own arguments come after `prefix`. */
export interface YtDlpCommand {
  command: string;
  prefix: readonly string[];
  environment: Readonly<Record<string, string>>;
}

/** The `treeSha256` of the files that the pinned build unpacks. */
const unpackedSha256 = '0517e87147eb43584b07995c6834328f331e4b0db81b6eb3d1cb8b7ce8c6ca5b';

/** Starts the packed yt-dlp so that it waits for its input, and moves its unpacked directory away. */
async function unpack(packedPath: string, loader: string, target: string, reaper: Reaper) {
  await using folder = await makeTemporaryFolder(`${target}-unpacking-`);
  const temporary = folder.path;
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
    const outcome = await withDeadline(Promise.race([asked, ended]), startTimeoutMs, () => 'too late');
    const unpacked = (await readdir(temporary)).find((name) => name.startsWith('_MEI'));
    if (outcome !== 'asked' || unpacked === undefined) throw new Error('The downloader did not unpack itself.');
    await rename(join(temporary, unpacked), target);
  } finally {
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
    await ended;
    if (child.pid !== undefined) reaper.release(child.pid);
  }
}

export interface Preparation {
  ytDlpPath: string;
  /** For the unpacked files, which are kept between runs of the service. */
  directory: string;
  reaper: Reaper;
  onProblem: (error: unknown) => void;
}

/**
 * Prepares the cheapest way to start yt-dlp. For any build but the pinned one, and after any failure, it is the plain command,
 * which always works.
 */
export async function prepareYtDlp({ ytDlpPath, directory, reaper, onProblem }: Preparation): Promise<YtDlpCommand> {
  const plain: YtDlpCommand = { command: ytDlpPath, prefix: [], environment: {} };
  const packedPath = join(dirname(ytDlpPath), bundledYtDlpName);
  const sha256 = await fileSha256(packedPath).catch(() => undefined);
  if (sha256 !== bundledYtDlpSha256) return plain;
  const loader = join(dirname(ytDlpPath), '..', 'runtime', 'musl', 'ld-musl-x86_64.so.1');
  try {
    const place = { directory, name: 'yt-dlp', sha256: unpackedSha256 };
    const target = await installTree((path) => unpack(packedPath, loader, path, reaper), place);
    return {
      command: loader,
      // Not as an environment variable, because the programs that yt-dlp starts would then load its libraries.
      prefix: ['--library-path', target, packedPath],
      environment: {
        _PYI_ARCHIVE_FILE: packedPath,
        _PYI_APPLICATION_HOME_DIR: target,
        _PYI_PARENT_PROCESS_LEVEL: '0',
      },
    };
  } catch (error) {
    onProblem(error);
    return plain;
  }
}
