import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { memory } from '../support/memory-folder.ts';
import { processesNaming } from '../support/processes-naming.ts';
import { waitFor } from '../support/wait-for.ts';

it('a bench that is told to end leaves no process and no folder behind', async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const bench = spawn(process.execPath, [main, '--only', 'waiting', '--accounts', '10', '--rounds', '1000', '--json']);
  const closed = once(bench, 'close') as Promise<[number | null]>;
  const stdout = text(bench.stdout);
  let told = '';
  bench.stderr.setEncoding('utf8').on('data', (chunk: string) => (told += chunk));
  await waitFor(() => told.includes('round 1 of'), { what: 'the bench to be under way' });
  const mark = `reeltally-bench-${bench.pid ?? 0}-`;
  expect(processesNaming(mark).length).toBeGreaterThan(5);

  bench.kill('SIGTERM');

  const [code] = await closed;
  expect(code).toBe(143);
  expect(told).toContain('The bench ended early: ended by SIGTERM.');
  expect(JSON.parse(await stdout)).toMatchObject({ failure: 'ended by SIGTERM', ratios: [], figures: [] });
  expect(processesNaming(mark)).toEqual([]);
  const folders = [tmpdir(), memory].flatMap((parent) => readdirSync(parent));
  expect(folders.filter((name) => name.startsWith(mark))).toEqual([]);
});
