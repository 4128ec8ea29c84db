/**
 * The bundled yt-dlp is one file that unpacks 77 MB into a temporary directory and starts itself again at every run: half a
 * second of processor time, and a directory that stays behind when it is killed. This unpacks it once, in the way in which
 * it does itself, and says how to start what it unpacked. It knows the inside of exactly one build, the pinned one.
 */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Namespaces } from '../sandbox/launch.ts';
import type { Reaper } from '../sandbox/reaper.ts';
import { installTree } from './installed-tree.ts';
import { bundledYtDlpName, bundledYtDlpSha256 } from './programs.ts';
import { fileSha256 } from '../file-sha256.ts';
import { runSandboxed } from '../sandbox/process.ts';
import { sendSignal } from '../../system/processes.ts';
import { withDeadline } from '../../async/deadline.ts';

/** How to start yt-dlp: its own arguments come after `prefix`. */
export interface YtDlpCommand {
  command: string;
  prefix: readonly string[];
  environment: Readonly<Record<string, string>>;
}

/** Over all that the pinned build unpacks, as `treeSha256` computes it. */
const unpackedSha256 = '0517e87147eb43584b07995c6834328f331e4b0db81b6eb3d1cb8b7ce8c6ca5b';

const unpackTimeoutMs = 20_000;

/** Starts the packed engine so that it waits for its input, and takes its unpacked directory away from it. */
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
  // It asks for its input only when everything is unpacked and Python runs.
  const asked = new Promise((resolve) => child.stderr.once('data', () => resolve('asked')));
  try {
    const outcome = await withDeadline(Promise.race([asked, ended]), unpackTimeoutMs, () => 'too late');
    const unpacked = (await readdir(temporary)).find((name) => name.startsWith('_MEI'));
    if (outcome !== 'asked' || unpacked === undefined) throw new Error('The engine did not unpack itself.');
    await rename(join(temporary, unpacked), target);
  } finally {
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
    await ended;
    if (child.pid !== undefined) reaper.release(child.pid);
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Whether the unpacked engine starts, from a fresh directory of its own. One that is only slow may be at work elsewhere. */
async function starts(
  engine: YtDlpCommand,
  { trialDirectory, reaper, namespaces }: Pick<Preparation, 'trialDirectory' | 'reaper' | 'namespaces'>,
): Promise<boolean> {
  const trial = await mkdtemp(join(trialDirectory, 'trial-'));
  let version = '';
  const result = await runSandboxed({
    command: engine.command,
    arguments: [...engine.prefix, '--ignore-config', '--version'],
    environment: engine.environment,
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
  /** Kept between runs of the service, so that unpacking happens once. */
  directory: string;
  /** For a directory of its own, in which it is tried. */
  trialDirectory: string;
  reaper: Reaper;
  /** What it is tried in. */
  namespaces?: Namespaces | undefined;
  onProblem: (error: unknown) => void;
}

/**
 * How to start yt-dlp most cheaply. Anything but the pinned build, and anything unexpected on the way, gives the plain
 * command, which always works.
 */
export async function prepareYtDlp(options: Preparation): Promise<YtDlpCommand> {
  const { ytDlpPath, directory, reaper } = options;
  const plain: YtDlpCommand = { command: ytDlpPath, prefix: [], environment: {} };
  const packedPath = join(dirname(ytDlpPath), bundledYtDlpName);
  const sha256 = await fileSha256(packedPath).catch(() => undefined);
  if (sha256 !== bundledYtDlpSha256) return plain;
  const loader = join(dirname(ytDlpPath), '..', 'runtime', 'musl', 'ld-musl-x86_64.so.1');
  try {
    const target = await installTree((path) => unpack(packedPath, loader, path, reaper), {
      ...{ directory, name: 'yt-dlp', sha256: unpackedSha256 },
    });
    const unpacked: YtDlpCommand = {
      command: loader,
      // Not as a variable: the programs that start this one would take its libraries for theirs.
      prefix: ['--library-path', target, packedPath],
      environment: {
        _PYI_ARCHIVE_FILE: packedPath,
        _PYI_APPLICATION_HOME_DIR: target,
        _PYI_PARENT_PROCESS_LEVEL: '0',
      },
    };
    await mkdir(options.trialDirectory, { recursive: true, mode: 0o700 });
    if (await starts(unpacked, options)) return unpacked;
    throw new Error('The unpacked engine does not start.');
  } catch (error) {
    options.onProblem(error);
    return plain;
  }
}
