import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measureDirectory } from '../../../src/downloader/sandbox/resource-use.ts';
import { runSandboxed } from '../../../src/downloader/sandbox/run-sandboxed.ts';
import { processesNaming } from '../../support/processes-naming.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';
import { sandboxOfFile } from '../sandbox-of-file.ts';
import { hostileChildren } from './hostile-children.ts';
import { startTestParent } from './parent-under-test.ts';

const { directory, reaper, sandbox: openedSandbox } = sandboxOfFile();

const quotaBytes = 512 * 1024 * 1024;
const timeoutMs = 1_000;
/** After its time limit nothing of a child may be there. */
const goneMs = 2_000;
/** A machine that does much else may be so many times slower than one that takes `usualMs` for a child that does nothing. */
const usualMs = 100;

/** A neighbour's directory, and a picture of all that is in it. */
function makeNeighbour(path: string): () => string {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'file'), 'unchanged');
  return () =>
    readdirSync(path)
      .map((name) => `${name}: ${readFileSync(join(path, name), 'utf8')}`)
      .join();
}

test('children that do their worst harm nobody, and leave nothing', async () => {
  const sandbox = openedSandbox();
  // Children of both kinds: started as programs, and forked by the engine.
  await using warm = await startTestParent(directory);
  const isCaged = sandbox.missing.length === 0;
  const kinds = Object.entries(hostileChildren).filter(([, { caged }]) => isCaged || caged !== true);
  const count = scaled(12, 100);
  const figures = { longestMs: 0, slowness: 1, mostBytes: 0, endings: new Map<string, number>() };
  // Another dozen each day, all of them in the long proof.
  const first = Number(process.env['PROOF_SEED']) % kinds.length;
  for (let index = 0; index < count; index += 1) {
    const [kind = '', { script = '', caged = false } = {}] = kinds[(first + index) % kinds.length] ?? [];
    const attempt = join(directory, `attempt-${index}`);
    const neighbour = join(directory, `neighbour-${index}`);
    const picture = makeNeighbour(neighbour);
    const before = picture();
    mkdirSync(attempt);
    const namespaces = isCaged && (caged || index % 2 === 0) ? sandbox.namespaces : {};
    const isForked = warm !== undefined && namespaces === sandbox.namespaces && index % 4 < 2;
    const limits = { maxDirectoryBytes: quotaBytes, maxMemoryBytes: 1024 ** 3, timeoutMs };
    const run = (body: string) =>
      isForked
        ? warm.run('script', [body, 'sh', attempt, neighbour], { directory: attempt, ...limits })
        : runSandboxed({
            command: '/bin/sh',
            arguments: ['-c', body, 'sh', attempt, neighbour],
            directory: attempt,
            searchPath: ['/usr/bin', '/bin'],
            signal: new AbortController().signal,
            reaper,
            namespaces,
            ...limits,
            maxOutputBytes: 1_000_000,
            onLine: () => undefined,
          });
    const idleMs = performance.now();
    await run(':');
    const startedMs = performance.now();
    const slowness = Math.max((startedMs - idleMs) / usualMs, 1);
    const result = await run(script);
    await waitFor(() => processesNaming(attempt).length === 0, { what: `the end of ${kind}` });
    const goneAfterMs = performance.now() - startedMs;
    const { bytesOnDisk } = await measureDirectory(attempt, 1e6);
    expect({ kind, found: readdirSync(attempt).includes('found'), picture: picture() }).toEqual({
      kind,
      found: false,
      picture: before,
    });
    expect({ kind, inTime: goneAfterMs < timeoutMs + goneMs * slowness }).toEqual({ kind, inTime: true });
    expect(bytesOnDisk).toBeLessThanOrEqual(quotaBytes + 1024 * 1024);
    figures.longestMs = Math.max(figures.longestMs, goneAfterMs - timeoutMs);
    figures.slowness = Math.max(figures.slowness, slowness);
    figures.mostBytes = Math.max(figures.mostBytes, bytesOnDisk);
    figures.endings.set(result.ending, (figures.endings.get(result.ending) ?? 0) + 1);
    rmSync(attempt, { recursive: true, force: true });
  }
  if (isLongProof) {
    const endings = [...figures.endings].map(([ending, times]) => `${times} ${ending}`).join(', ');
    console.log(
      `${count} hostile children, seed ${process.env['PROOF_SEED']}: gone at most ${Math.round(figures.longestMs)} ms after ` +
        `the time limit on a machine up to ${figures.slowness.toFixed(1)} times slower than usual, at most ${(figures.mostBytes / 2 ** 20).toFixed(1)} of ${quotaBytes / 2 ** 20} MiB on disk; ${endings}`,
    );
  }
});
