/**
 * Plants faults, one at a time, in a copy of the working tree, and runs the tests that have to notice each: `npm run test:faults`.
 * Names choose some: `npm run test:faults -- "one cent more"`.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { applyEdit, type Edit } from '../simulation/module-hooks.ts';
import { root } from '../tidy/source-files.ts';
import { plantedFaults } from './planted-faults.ts';

const names = process.argv.slice(2);
const chosen = plantedFaults.filter(({ name }) => names.length === 0 || names.includes(name));
if (chosen.length < Math.max(names.length, 1)) {
  console.error(`name some of these faults, or none for all:\n  ${plantedFaults.map(({ name }) => name).join('\n  ')}`);
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'reeltally-faults-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
copyTracked();

let missed = 0;
/** Which tests have passed without a fault: what fails anyway notices nothing. */
const passed = new Set<string>();
for (const [index, { name, edit, noticedBy }] of chosen.entries()) {
  const startedMs = performance.now();
  const tests = noticedBy.join(' ');
  if (!passed.has(tests)) requirePass(noticedBy);
  passed.add(tests);
  const isNoticed = !passesWith(edit, noticedBy);
  if (!isNoticed) missed += 1;
  const took = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(
    `${String(index + 1)} of ${String(chosen.length)}: ${isNoticed ? 'noticed' : 'MISSED '} ${name} (${took} s)`,
  );
}
console.log(`${String(chosen.length - missed)} of ${String(chosen.length)} faults were noticed`);
process.exitCode = missed === 0 ? 0 : 1;

function copyTracked(): void {
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const file of tracked.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

function passesWith(edit: Edit, tests: readonly string[]): boolean {
  const file = join(copy, edit.file);
  const source = readFileSync(file, 'utf8');
  writeFileSync(file, applyEdit(source, edit));
  try {
    return run(tests).status === 0;
  } finally {
    writeFileSync(file, source);
  }
}

function requirePass(tests: readonly string[]): void {
  const { status, stdout, stderr } = run(tests);
  if (status === 0) return;
  console.error(`${stdout}\n${stderr}\nthese tests fail without a fault: ${tests.join(' ')}`);
  process.exit(1);
}

function run(tests: readonly string[]) {
  const words = ['test/run.ts', 'usual', ...tests.map((each) => `test/${each}`), '--bail=1'];
  return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...words], {
    cwd: copy,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
}
