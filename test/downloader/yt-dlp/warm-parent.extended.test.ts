import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import pMap from 'p-map';
import { expect, onTestFinished, test } from 'vitest';
import { fingerprintOf, keepWarm } from '../../../src/downloader/yt-dlp/warm-parent.ts';
import { processesNaming } from '../../support/processes-naming.ts';
import { scaled } from '../../support/proof-scale.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startTestParent, type TestParent } from '../sandbox/parent-under-test.ts';

/** A parent in a folder of its own, and folders for its children; undefined where children are not forked. */
async function warmParent(): Promise<(TestParent & { folder: (name: string) => string }) | undefined> {
  const directory = temporaryDirectory();
  const started = await startTestParent(directory);
  if (started === undefined) return undefined;
  onTestFinished(() => started[Symbol.asyncDispose]());
  const folder = (name: string) => {
    const path = join(directory, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  return { ...started, folder };
}

/** The process and its children, which all look the same from outside. */
const processesOf = ({ plugins }: TestParent) => processesNaming(plugins);

/** Never 0, which would stand for this process and all beside it. */
function newParent(warm: TestParent, before: readonly number[] = []): number {
  // Not the last of them all: ids of processes begin anew at their limit.
  const pid = processesOf(warm).find((each) => !before.includes(each));
  if (pid === undefined) throw new Error('The process of the parent is not found.');
  return pid;
}

async function memoryHas(pid: number, text: string): Promise<boolean> {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  const memory = await open(`/proc/${pid}/mem`);
  try {
    for (const line of maps.filter((each) => each.includes(' rw') && !each.includes('['))) {
      const [begin = 0, end = 0] = (line.split(' ')[0] ?? '').split('-').map((hex) => parseInt(hex, 16));
      const { buffer } = await memory.read(Buffer.alloc(end - begin), 0, end - begin, begin);
      if (buffer.includes(text)) return true;
    }
    return false;
  } finally {
    await memory.close();
  }
}

test('a child can attack neither the process that it comes from, nor any other, nor the engine', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const secret = 'whisper-7261';
  const lines: string[] = [];
  const onLine = (line: string) => lines.push(line);
  const told = { directory: warm.folder('told'), environment: { SECRET: secret }, onLine };
  await warm.run('script', ['echo "$SECRET"', 'sh'], told);
  expect(lines).toContain(secret);

  const others = [...processesOf(warm), process.pid, process.ppid];
  const files = ['/proc/self/exe', warm.ytDlpPath, join(warm.plugins, 'reeltally')];
  const words = [others, Buffer.from(secret).reverse().toString(), files];
  const { ending, exitCode } = await warm.run('attack', words, { directory: warm.folder('attack'), onLine });
  expect({ ending, exitCode }).toEqual({ ending: 'exited', exitCode: 0 });
  expect(lines.filter((line) => line.startsWith('WORKED'))).toEqual(['WORKED []']);

  // Nor is anything of a child in the process that the next one comes from.
  const [parent = 0, ...children] = processesOf(warm);
  expect(children).toEqual([]);
  expect(await memoryHas(parent, secret)).toBe(false);
  expect(await memoryHas(parent, 'reeltally:warm')).toBe(true);
  expect(readdirSync(`/proc/${parent}/root`)).not.toContain('root');
  expect(readFileSync(`/proc/${parent}/net/dev`, 'utf8').trim().split('\n').slice(2)).toEqual([
    expect.stringMatching(/^ *lo:(?: +0)+$/),
  ]);
});

test('children that are stopped at any moment leave nothing, and others are forked as before', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const attempts = Array.from({ length: scaled(12, 200) }, (_, index) => ({ index, stoppedMs: (index * 7) % 120 }));
  const outcomes = await pMap(
    attempts,
    async ({ index, stoppedMs }) => {
      // No name is the beginning of another one.
      const directory = warm.folder(`attempt-${String(index).padStart(3, '0')}`);
      const { ending } = await warm.run('script', ['sleep 60', 'sh', directory], {
        directory,
        signal: AbortSignal.timeout(stoppedMs),
      });
      return { ending, left: processesNaming(directory) };
    },
    { concurrency: 4 },
  );
  expect(new Set(outcomes.map(({ ending }) => ending))).toEqual(new Set(['aborted']));
  expect(outcomes.flatMap(({ left }) => left)).toEqual([]);
  expect((await warm.run('script', ['exit 7'], { directory: warm.folder('after') })).exitCode).toBe(7);
  await waitFor(() => processesOf(warm).length === 1, { what: 'the end of all but the parent' });
});

test('a parent that is killed takes its children along, and their attempts end', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const parent = newParent(warm);
  const directory = warm.folder('cut-off');
  const running = warm.run('script', ['echo under way; sleep 60', 'sh', directory], {
    directory,
    onLine: (line) => line === 'under way' && process.kill(parent, 'SIGKILL'),
  });
  // It is not the video's fault.
  expect(await running).toMatchObject({ ending: 'cut_off' });
  expect(processesNaming(directory)).toEqual([]);
  const { ending } = await warm.run('script', [':'], { directory: warm.folder('late') });
  expect(ending).toBe('not_started');
});

test('a parent that cannot fork says why, and goes on with the children that it has', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const parent = newParent(warm);
  const limitFiles = (limit: string) => spawnSync('prlimit', ['--pid', String(parent), `--nofile=${limit}:`]);
  const limited = warm.run('script', ['echo under way; read -r line < "$0"', join(warm.folder('one'), 'pipe')], {
    directory: warm.folder('one'),
    onLine: (line) => line === 'under way' && begun.resolve(undefined),
  });
  const begun = Promise.withResolvers<undefined>();
  spawnSync('mkfifo', ['-m', '666', join(warm.folder('one'), 'pipe')]);
  await begun.promise;
  limitFiles('4');
  const refused = await warm.run('script', [':'], { directory: warm.folder('two') });
  expect(refused).toMatchObject({
    ending: 'not_started',
    stderr: expect.stringContaining('Errno 24') as string,
  });
  limitFiles('1024');
  expect((await warm.run('script', ['exit 7'], { directory: warm.folder('three') })).exitCode).toBe(7);
  appendFileSync(join(warm.folder('one'), 'pipe'), 'go on\n');
  expect(await limited).toMatchObject({ ending: 'exited', exitCode: 0 });
});

test('a parent that does not answer is ended', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const before = processesOf(warm);
  const parent = await warm.startAnother({ forkTimeoutMs: 200 });
  expect(before).not.toEqual([]);
  process.kill(newParent(warm, before), 'SIGSTOP');
  const { ending } = await warm.run('script', [':'], { directory: warm.folder('unanswered') }, parent);
  expect(ending).toBe('not_started');
  await parent.ended;
});

test('a parent that is retired forks no more, although it still has a child', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const parent = await warm.startAnother();
  const stopping = new AbortController();
  const begun = Promise.withResolvers<undefined>();
  const directory = warm.folder('last');
  const onLine = () => begun.resolve(undefined);
  const last = warm.run('script', ['echo; sleep 60'], { directory, onLine, signal: stopping.signal }, parent);
  await begun.promise;
  parent.retire();
  const { ending } = await warm.run('script', [':'], { directory: warm.folder('late') }, parent);
  expect(ending).toBe('not_started');
  stopping.abort();
  await last;
  await parent.ended;
});

test('a run for which nothing can be forked starts yt-dlp anew', async ({ skip }) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const parent = await warm.startAnother();
  parent.retire();
  const lines: string[] = [];
  const { exitCode } = await warm.runAsService(parent, {
    arguments: ['--ignore-config', '--version'],
    directory: warm.folder('anew'),
    onLine: (line) => lines.push(line),
  });
  expect({ exitCode, lines }).toEqual({ exitCode: 0, lines: [expect.stringMatching(/^20\d\d\./)] });
});

test('a parent is followed by another after its last child, at its end, and when a file was changed', async ({
  skip,
}) => {
  const warm = await warmParent();
  if (warm === undefined) return skip('children are not forked here');
  const problems: unknown[] = [];
  const parentOf = keepWarm({
    start: warm.startAnother,
    fingerprint: () => fingerprintOf([warm.ytDlpPath], warm.plugins),
    onProblem: (error) => problems.push(error),
    maxForks: 2,
  });
  const first = await parentOf();
  await Promise.all(['one', 'two'].map((name) => warm.run('script', [':'], { directory: warm.folder(name) }, first)));
  expect(first?.forks()).toBe(2);
  const second = await parentOf();
  expect(second).not.toBe(first);
  await first?.ended;
  expect(await parentOf()).toBe(second);

  appendFileSync(join(warm.plugins, 'reeltally/yt_dlp_plugins/extractor/sample.py'), '\n');
  const third = await parentOf();
  expect(third).not.toBe(second);
  third?.retire();
  await third?.ended;
  const fourth = await parentOf();
  expect(fourth).not.toBe(third);

  // A broken plugin stops no download: each then starts the engine by itself.
  writeFileSync(join(warm.plugins, 'reeltally/yt_dlp_plugins/extractor/warm.py'), 'raise RuntimeError');
  expect(await parentOf()).toBeUndefined();
  expect(problems).toHaveLength(1);
});
