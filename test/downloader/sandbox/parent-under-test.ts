import { cpSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import { hasAll } from '../../../src/downloader/sandbox/launch.ts';
import { openSandbox } from '../../../src/downloader/sandbox/open-sandbox.ts';
import {
  type ProcessResult,
  runSandboxed,
  type SandboxedProcess,
} from '../../../src/downloader/sandbox/run-sandboxed.ts';
import { runYtDlp } from '../../../src/downloader/yt-dlp/run-yt-dlp.ts';
import { prepareYtDlp } from '../../../src/downloader/yt-dlp/unpack.ts';
import { startWarmParent, type WarmParent } from '../../../src/downloader/yt-dlp/warm-parent.ts';
import { engineDirectoryOfRun } from '../../support/films-and-engine-of-run.ts';
import { findDownloader, pluginsDirectory, throughOtherProxy } from '../../support/sample-platform.ts';
import { patienceMs } from '../../support/wait-for.ts';

const hostilePlugins = fileURLToPath(new URL('hostile-plugins', import.meta.url));

/** A folder with the plugins of the service and the hostile ones of tests. */
export function allPluginsIn(directory: string): string {
  const plugins = mkdtempSync(join(directory, 'plugins-'));
  for (const from of [pluginsDirectory, hostilePlugins]) cpSync(from, plugins, { recursive: true });
  return plugins;
}

export interface TestParent extends AsyncDisposable {
  ytDlpPath: string;
  /** The folder of its plugins, by which it is known from others. */
  plugins: string;
  /** Forks a child that is given to one of the hostile extractors. */
  run(
    extractor: 'script' | 'attack',
    words: unknown,
    more: Pick<SandboxedProcess, 'directory'> & Partial<SandboxedProcess>,
    from?: WarmParent,
  ): Promise<ProcessResult>;
  startAnother: (limits?: { forkTimeoutMs: number }) => Promise<WarmParent>;
  /** Runs yt-dlp as an attempt does. */
  runAsService: (
    from: WarmParent,
    run: Pick<SandboxedProcess, 'arguments' | 'directory' | 'onLine'>,
  ) => Promise<ProcessResult>;
}

/** @returns undefined where this machine does not allow all namespaces, and no child is forked */
export async function startTestParent(directory: string): Promise<TestParent | undefined> {
  const programs = await findDownloader();
  const { ytDlpPath } = programs;
  const engine = engineDirectoryOfRun() ?? join(directory, 'engine');
  const plugins = allPluginsIn(directory);
  const sandbox = await openSandbox({
    directory: join(directory, 'cell'),
    programs: [ytDlpPath],
    readable: [plugins, engine],
  });
  const { namespaces } = sandbox;
  if (!hasAll(namespaces)) {
    await sandbox.close();
    return undefined;
  }
  const reaper = startReaper();
  const onProblem = (error: unknown) => {
    throw error;
  };
  const ytDlp = await prepareYtDlp({ ytDlpPath, directory: engine, reaper, onProblem });
  const startAnother = (limits = {}) =>
    startWarmParent(ytDlp, { pluginsDirectory: plugins, namespaces, reaper, ...limits });
  const parent = await startAnother();
  return {
    ytDlpPath,
    plugins,
    startAnother,
    run: (extractor, words, more, from = parent) => {
      const url = `${extractor}:${Buffer.from(JSON.stringify(words)).toString('base64')}`;
      return runSandboxed({
        command: from,
        arguments: ['--ignore-config', '--no-plugin-dirs', '--plugin-dirs', plugins, '--ies', extractor, '--', url],
        searchPath: ['/usr/bin', '/bin'],
        timeoutMs: patienceMs,
        signal: new AbortController().signal,
        reaper,
        maxOutputBytes: 1_000_000,
        onLine: () => undefined,
        ...more,
      });
    },
    runAsService: (from, run) => {
      const egress = throughOtherProxy('http://127.0.0.1:9');
      const options = { ...programs, namespaces, reaper, egress, limits: { maxFileSizeBytes: 1_000_000 } };
      const context = { options, ytDlp: () => Promise.resolve(ytDlp), forker: () => Promise.resolve(from) };
      const signal = new AbortController().signal;
      return runYtDlp(context, { ...run, fetches: false, platform: 'sample', timeoutMs: patienceMs, signal });
    },
    [Symbol.asyncDispose]: async () => {
      reaper.close();
      await sandbox.close();
    },
  };
}
