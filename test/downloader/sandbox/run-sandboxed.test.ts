import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import {
  type ProcessEnding,
  runSandboxed,
  type SandboxedProcess,
} from '../../../src/downloader/sandbox/run-sandboxed.ts';
import type { ChildObserver } from '../../../src/ports/observers.ts';
import { isAlive } from '../../embedded/owned.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';

const reaper = startReaper();
afterAll(() => reaper.close());

/** Runs a little program of Node's in containment. */
async function run(program: string, limits: Partial<SandboxedProcess> = {}) {
  const lines: string[] = [];
  const result = await runSandboxed({
    command: process.execPath,
    arguments: ['-e', program],
    directory: temporaryDirectory(),
    searchPath: ['/nowhere'],
    timeoutMs: patienceMs,
    signal: new AbortController().signal,
    maxOutputBytes: 1_000_000,
    onLine: (line) => lines.push(line),
    reaper,
    ...limits,
  });
  return { ...result, lines };
}

/** A program that starts a child which ignores SIGTERM, prints both pids and stays. */
const stubborn = `
  const { spawn } = require('node:child_process');
  process.on('SIGTERM', () => {});
  const inner = "process.on('SIGTERM', () => {}); console.log(process.pid); setInterval(() => {}, 1000)";
  spawn(process.execPath, ['-e', inner], { stdio: 'inherit' });
  console.log(process.pid);
  setInterval(() => {}, 1000);
`;

describe('a contained process', () => {
  test('prints lines, also an unfinished one, and ends with its code', async () => {
    const program = 'process.stdout.write("a\\n\\nb"); console.error("x"); process.exitCode = 3';
    expect(await run(program)).toEqual({ ending: 'exited', exitCode: 3, stderr: 'x\n', lines: ['a', 'b'] });
  });

  test('sees nothing of our environment', async () => {
    const directory = temporaryDirectory();
    const { lines } = await run('console.log(JSON.stringify(process.env))', { directory, environment: { OWN: '1' } });
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      OWN: '1',
      REELTALLY_RUN: expect.stringMatching(/^\d+$/) as string,
      PATH: '/nowhere',
      HOME: `${directory}/home`,
      TMPDIR: `${directory}/tmp`,
      LANG: 'C.UTF-8',
    });
  });

  test('that is not there is reported, and counted', async () => {
    const seen: string[] = [];
    const observer: ChildObserver = {
      childStarted: () => seen.push('started'),
      childEnded: (ending) => seen.push(ending),
    };
    expect(await run('', { command: '/nowhere/program', observer })).toMatchObject({ ending: 'not_started' });
    expect(seen).toEqual(['started', 'not_started']);
  });

  test('is not started when it was aborted before', async () => {
    expect(await run('console.log(1)', { signal: AbortSignal.abort() })).toMatchObject({
      ending: 'aborted',
      lines: [],
    });
  });

  const nameless = `
    for (const name of ['a', 'b', 'c', 'd']) {
      const file = fs.openSync(name, 'w');
      fs.unlinkSync(name);
      fs.writeSync(file, Buffer.alloc(600_000));
    }`;
  test.each<[string, string, Partial<SandboxedProcess>, ProcessEnding]>([
    ['at its time limit', '', { timeoutMs: 300 }, 'timed_out'],
    [
      'when it fills its directory',
      'fs.writeFileSync("x", Buffer.alloc(3e6))',
      { maxDirectoryBytes: 1e6 },
      'directory_full',
    ],
    ['when it fills files that have no name any more', nameless, { maxDirectoryBytes: 2e6 }, 'directory_full'],
  ])('is ended %s', async (_when, work, limits, ending) => {
    const program = `const fs = require('fs'); ${work}; setInterval(() => {}, 1000)`;
    expect(await run(program, limits)).toMatchObject({ ending });
  });

  test('gets no more than half of the memory for one process', async () => {
    const program = `
      try { globalThis.kept = Buffer.alloc(800_000_000, 1); console.log('taken'); } catch { console.log('refused'); }
      setInterval(() => {}, 1000);`;
    const abort = new AbortController();
    const lines: string[] = [];
    const onLine = (line: string) => {
      lines.push(line);
      abort.abort();
    };
    const limits = { maxMemoryBytes: 1_200_000_000, signal: abort.signal, onLine };
    expect(await run(program, limits)).toMatchObject({ ending: 'aborted' });
    expect(lines).toEqual(['refused']);
  });

  test('is ended when its processes together take more memory than they may', async () => {
    // Each tail keeps what nobody reads from it.
    const kept = 'head -c 40000000 /dev/zero | tail -c 40000000 | sleep 100';
    const program = {
      command: '/bin/sh',
      arguments: ['-c', `for child in 1 2 3 4 5; do ${kept} & done; wait`],
      searchPath: ['/usr/bin', '/bin'],
    };
    expect(await run('', { ...program, maxMemoryBytes: 150_000_000 })).toMatchObject({ ending: 'memory_full' });
  });

  test.each(['console.log', 'console.error'])('is ended when it prints too much by %s', async (print) => {
    const { ending, stderr } = await run(`setInterval(() => ${print}("x".repeat(9999)), 0)`, {
      maxOutputBytes: 200_000,
    });
    expect(ending).toBe('output_flood');
    expect(stderr.length).toBeLessThanOrEqual(65_536);
  });

  test('loses a line that is far too long, and no other', async () => {
    const program = 'process.stdout.write("x".repeat(600000) + "\\nshort\\n")';
    expect((await run(program)).lines).toEqual(['short']);
  });

  test('is ended with its children, even where they ignore being asked', async () => {
    const abort = new AbortController();
    const pids: number[] = [];
    const onLine = (line: string) => {
      if (pids.push(Number(line)) === 2) abort.abort();
    };
    expect(await run(stubborn, { signal: abort.signal, onLine })).toMatchObject({ ending: 'aborted' });
    expect(pids).toHaveLength(2);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test('leaves no child behind when it ends by itself', async () => {
    const program = `
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
      child.unref(); console.log(child.pid); process.exit(0);`;
    const { ending, lines } = await run(program);
    expect(ending).toBe('exited');
    expect(isAlive(Number(lines[0]))).toBe(false);
  });

  test('dies with its children when our own process is killed', async () => {
    const contained = fileURLToPath(new URL('../../../src/downloader/sandbox/run-sandboxed.ts', import.meta.url));
    const keeping = fileURLToPath(new URL('../../../src/downloader/sandbox/child-reaper.ts', import.meta.url));
    const parentProgram = `
      const { runSandboxed } = await import(${JSON.stringify(contained)});
      const { startReaper } = await import(${JSON.stringify(keeping)});
      await runSandboxed({
        command: process.execPath, arguments: ['-e', ${JSON.stringify(stubborn)}], directory: process.argv[1],
        searchPath: [], timeoutMs: 60000, signal: new AbortController().signal, maxOutputBytes: 1000,
        onLine: (line) => console.log(line), reaper: startReaper(),
      });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', parentProgram, temporaryDirectory()], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    parent.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await waitFor(() => printed.split('\n').length === 3, { what: 'both children' });
    parent.kill('SIGKILL');
    const pids = printed.trim().split('\n').map(Number);
    await waitFor(() => !pids.some(isAlive), { what: 'the end of both children' });
  });
});
