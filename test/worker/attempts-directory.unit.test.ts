import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAttemptsDirectory } from '../../src/worker/attempts-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('a worker that starts removes what others have left, and nothing that may be in use', async () => {
  const work = temporaryDirectory();
  const nowMs = 1_800_000_000_000;
  const leave = (name: string, ageSeconds: number) => {
    mkdirSync(join(work, name), { recursive: true });
    writeFileSync(join(work, name, 'media.mp4.part'), 'half a film');
    const seconds = nowMs / 1000 - ageSeconds;
    utimesSync(join(work, name), seconds, seconds);
  };
  const old = ['probe-old', 'cell/self-test-old', 'cell/version-old'];
  for (const name of ['attempts/wrk_gone', 'attempts/wrk_alive', 'of-the-operator', ...old]) leave(name, 7_200);
  leave('probe-new', 3_599);
  const directory = await openAttemptsDirectory(work, {
    workerId: 'wrk_new',
    listLiving: () => Promise.resolve(new Set(['wrk_alive', 'wrk_new'])),
    nowMs,
  });
  expect(directory).toBe(join(work, 'attempts', 'wrk_new'));
  expect(readdirSync(join(work, 'attempts')).sort()).toEqual(['wrk_alive', 'wrk_new']);
  expect(readdirSync(work).sort()).toEqual(['attempts', 'cell', 'of-the-operator', 'probe-new']);
  expect(readdirSync(join(work, 'cell'))).toEqual([]);
});

test('a worker that starts leaves alone another one that starts at the same moment', async () => {
  const work = temporaryDirectory();
  const beating = new Set(['wrk_first']);
  const second = () => {
    beating.add('wrk_second');
    mkdirSync(join(work, 'attempts/wrk_second'), { recursive: true });
  };
  // The second one begins while the first asks who is alive.
  const listLiving = () => {
    const living = new Set(beating);
    second();
    return Promise.resolve(living);
  };
  await openAttemptsDirectory(work, { workerId: 'wrk_first', listLiving, nowMs: 1_800_000_000_000 });
  expect(readdirSync(join(work, 'attempts')).sort()).toEqual(['wrk_first', 'wrk_second']);
});
