import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { readProcessFile } from '../src/system/processes.ts';
import { inMemoryIfPossible } from './support/memory-folder.ts';
import { processesNaming } from './support/processes-naming.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';
import { waitFor } from './support/wait-for.ts';
import { root } from './tidy/source-files.ts';

/** Vitest tells its processes by variables of its own what they are. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:TEST|VITEST)/.test(name)));

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a run with everything that it has started', async (signal, code) => {
  const words = ['test/run.ts', 'usual', 'test/http/health.test.ts', 'test/flow/one-download.test.ts'];
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

it.each([
  { fails: 'once', code: 0, said: /^FLAKY: .*first\.test\.mjs$/m },
  { fails: 'always', code: 1, said: /^1 FAILED beside others, and run once more, alone: .*first\.test\.mjs$/m },
])('a file that fails $fails ends the run with $code', async ({ fails, code, said }) => {
  const folder = temporaryDirectory();
  const [before, reporter] = [join(folder, 'before'), join(root, 'test', 'support', 'progress-reporter.ts')];
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import Reporter from ${JSON.stringify(reporter)};
     export default { test: { reporters: [new Reporter()], projects: [{ extends: true, test: { name: 'unit', include: ['*.test.mjs'] } }] } };`,
  );
  writeFileSync(
    join(folder, 'first.test.mjs'),
    `import { existsSync, writeFileSync } from 'node:fs';
     import { expect, it } from 'vitest';
     it('fails', () => {
       const passes = existsSync(${JSON.stringify(before)}) && ${String(fails === 'once')};
       writeFileSync(${JSON.stringify(before)}, '');
       expect(passes).toBe(true);
     });`,
  );
  writeFileSync(join(folder, 'second.test.mjs'), `import { it } from 'vitest'; it('passes', () => undefined);`);
  const run = spawn(process.execPath, [join(root, 'test', 'run.ts'), 'unit', '--failed-again'], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output] = await Promise.all([text(run.stdout), once(run, 'exit')]);
  expect(output).toMatch(said);
  expect(run.exitCode).toBe(code);
});
