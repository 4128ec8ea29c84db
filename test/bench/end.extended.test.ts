import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { familyOf, listProcesses, readProcess, readProcessFile } from '../../src/system/processes.ts';
import { memory } from '../support/memory-folder.ts';
import { waitFor } from '../support/wait-for.ts';

it('a bench that is told to end leaves no process and no folder behind', async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const bench = spawn(process.execPath, [main, '--only', 'files', '--rounds', '100000', '--json']);
  const closed = once(bench, 'close') as Promise<[number | null]>;
  const stdout = text(bench.stdout);
  let told = '';
  bench.stderr.setEncoding('utf8').on('data', (chunk: string) => (told += chunk));
  const isUnderWay = waitFor(() => told.includes('round 0 of'), { what: 'the bench to be under way' });
  await Promise.race([isUnderWay, closed.then(() => expect.unreachable(told))]);
  const started = familyOf([bench.pid ?? 0], listProcesses());
  const programs = started.map((pid) => readProcessFile(pid, 'cmdline') ?? '');
  for (const program of ['postgres', 'nats-server', 'event-store/main.ts', 'reeltally.js'])
    expect(programs.filter((command) => command.includes(program))).not.toEqual([]);

  bench.kill('SIGTERM');
  // As from a terminal and from npm.
  await waitFor(() => told.includes('ended early'), { what: 'its end to begin' });
  bench.kill('SIGTERM');

  const [code] = await closed;
  expect(code).toBe(143);
  expect(told).toContain('The bench ended early: ended by SIGTERM.');
  expect(JSON.parse(await stdout)).toMatchObject({ failure: 'ended by SIGTERM', ratios: [], figures: [] });
  const isThere = (pid: number) => readProcess(pid) !== undefined;
  await waitFor(() => !started.some(isThere), { what: 'all processes to end' });
  const folders = [tmpdir(), memory].flatMap((parent) => readdirSync(parent));
  expect(folders.filter((name) => name.startsWith(`reeltally-bench-${bench.pid ?? 0}-`))).toEqual([]);
});
