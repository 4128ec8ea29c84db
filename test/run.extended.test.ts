import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { readProcessFile } from '../src/system/processes.ts';
import { inMemoryIfPossible } from './support/memory-folder.ts';
import { processesNaming } from './support/processes-naming.ts';
import { waitFor } from './support/wait-for.ts';
import { root } from './tidy/source-files.ts';

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a run with everything that it has started', async (signal, code) => {
  const words = ['test/run.ts', 'usual', 'test/http/health.test.ts', 'test/flow/one-download.test.ts'];
  // Vitest tells its processes by variables of its own what they are.
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:TEST|VITEST)/.test(name)),
  );
  const run = spawn(process.execPath, words, { cwd: root, env: environment, stdio: 'ignore' });
  const mark = `reeltally-test-${String(run.pid)}-`;
  const isService = (pid: number) => readProcessFile(pid, 'cmdline')?.includes('reeltally.js') === true;
  await waitFor(() => processesNaming(mark).some(isService), { what: 'a service of the run' });
  const exited = once(run, 'exit');
  run.kill(signal);
  expect(await exited).toEqual([code, null]);
  expect(processesNaming(mark)).toEqual([]);
  const folders = [tmpdir(), inMemoryIfPossible()].flatMap((parent) => readdirSync(parent));
  expect(folders.filter((name) => name.startsWith(mark))).toEqual([]);
});
