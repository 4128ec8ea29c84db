import { spawn } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test, type TestContext } from 'vitest';
import { refusedCalls } from '../../../src/downloader/sandbox/system-calls.ts';
import { openDirectory } from '../../support/without-namespaces.ts';
import { root } from '../../tidy/source-files.ts';
import { startTestParent } from './parent-under-test.ts';

/**
 * Prints each file of the kernel that opens for writing, and writes to none. The kernel lets uid 0 write to most of them, also
 * without capabilities and from any namespace; who can write to core_pattern becomes root outside.
 */
const openAll = `
  find /proc /sys -type f -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' 2>/dev/null |
    while read -r file; do (: >> "$file") 2>/dev/null && echo "$file"; done
  echo looked`;

const source = (name: string) =>
  JSON.stringify(new URL(`../../../src/downloader/sandbox/${name}.ts`, import.meta.url).href);

/** A worker of its own, which runs one child. */
const worker = `
  const { openSandbox } = await import(${source('open-sandbox')});
  const { runSandboxed } = await import(${source('run-sandboxed')});
  const { startReaper } = await import(${source('child-reaper')});
  const [directory, attempt, script] = process.argv.slice(1);
  const sandbox = await openSandbox({ directory, programs: [], readable: [] });
  const reaper = startReaper();
  await runSandboxed({
    command: '/bin/sh', arguments: ['-c', script], directory: attempt, searchPath: ['/usr/bin', '/bin'],
    timeoutMs: 60000, signal: new AbortController().signal, maxOutputBytes: 1000000, onLine: console.log,
    reaper, namespaces: sandbox.namespaces,
  });
  reaper.close();
  await sandbox.close();`;

/** @returns the lines of a child of a worker that this user runs */
async function childOfWorker(uid: number, script: string): Promise<string[]> {
  const directory = openDirectory();
  const [cell, attempt] = ['cell', 'attempt'].map((name) => join(directory, name)) as [string, string];
  for (const path of [cell, attempt]) {
    mkdirSync(path);
    chownSync(path, uid, uid);
  }
  const asUser = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
  const words = [process.execPath, '--input-type=module', '-e', worker, cell, attempt, script];
  const child = spawn('setpriv', [...asUser, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(child.stdout)).trim().split('\n');
}

async function forkedChild(script: string, skip: TestContext['skip']): Promise<string[]> {
  const directory = openDirectory();
  await using warm = await startTestParent(directory);
  if (warm === undefined) return skip('children are not forked here');
  const attempt = join(directory, 'attempt');
  mkdirSync(attempt);
  const lines: string[] = [];
  await warm.run('script', [script, 'sh'], { directory: attempt, onLine: (line) => lines.push(line) });
  // What it was told to do is printed too.
  return lines.filter((line) => !line.startsWith('[script]'));
}

const processor = process.arch === 'arm64' ? 'arm64' : 'x64';
const socketCall = { x64: 41, arm64: 198 }[processor];
const cloneCall = { x64: 56, arm64: 220 }[processor];
const newUserNamespace = 0x1000_0000;

/** Each call, with arguments that do nothing where it is not refused, and the error that it must give. */
const calls = [
  ...refusedCalls.flatMap(({ name, numbers: { [processor]: number }, errno }) =>
    number === undefined ? [] : [{ name, words: [number, -1, -1, 0, 0, 0], errno }],
  ),
  ...Object.entries({ AF_PACKET: 17, AF_ALG: 38, AF_VSOCK: 40 }).map(([name, family]) => ({
    name,
    words: [socketCall, family, 2, 0],
    errno: 97,
  })),
  { name: 'clone with a namespace', words: [cloneCall, newUserNamespace, 0, 0, 0, 0], errno: 1 },
  { name: 'AF_INET', words: [socketCall, 2, 1, 0], errno: 0 },
  { name: 'AF_UNIX', words: [socketCall, 1, 1, 0], errno: 0 },
];

const makeCalls = calls
  .map(({ name, words }) => `$! = 0; syscall(${words.join(', ')}); print "${name} ", $! + 0, "\\n";`)
  .join(' ');

describe('a child in namespaces', () => {
  test.each([0, 65_534, 10_001])(
    'is refused each system call of the table, as a child of a worker of uid %i',
    async (uid) => {
      const answers = await childOfWorker(uid, `perl -e '${makeCalls}'`);
      expect(answers).toEqual(calls.map(({ name, errno }) => `${name} ${errno}`));
    },
  );

  test('is refused each of them where it was forked too', async ({ skip }) => {
    const answers = await forkedChild(`perl -e '${makeCalls}'`, skip);
    expect(answers).toEqual(calls.map(({ name, errno }) => `${name} ${errno}`));
  });

  test('is refused what the page on it names', () => {
    const page = readFileSync(join(root, 'docs/containment.md'), 'utf8');
    const [, named = ''] = /^\| `calls` \|(.*?)\|/m.exec(page) ?? [];
    expect([...named.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(refusedCalls.map(({ name }) => name));
  });

  test.each([0, 65_534, 10_001])(
    'can open no file of the kernel for writing, as a child of a worker of uid %i',
    async (uid) => {
      expect(await childOfWorker(uid, openAll)).toEqual(['looked']);
    },
  );

  test('can open none where it was forked either', async ({ skip }) => {
    expect(await forkedChild(openAll, skip)).toEqual(['looked']);
  });

  test('of a worker that is root is another user of the machine', async () => {
    const [uid, ...maps] = (await childOfWorker(0, 'id -u; cat /proc/self/uid_map')).map((line) =>
      line.trim().split(/\s+/).map(Number),
    );
    // Its number within, the one outside, and how many follow.
    expect(maps).toContainEqual([uid?.[0], uid?.[0], 1]);
    expect(uid?.[0]).toBeGreaterThanOrEqual(60_880);
  });
});
