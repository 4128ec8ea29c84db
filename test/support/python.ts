import { spawnSync } from 'node:child_process';

const least = [3, 9] as const;

/** @returns why the examples in Python cannot run here; undefined where they can */
export function whyNoPython(): string | undefined {
  const { status, stdout } = spawnSync('python3', ['-c', 'import sys; print(*sys.version_info[:2])'], {
    encoding: 'utf8',
  });
  if (status !== 0) return 'There is no python3 on the PATH.';
  const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number);
  const isOldEnough = major === least[0] && minor >= least[1];
  return isOldEnough ? undefined : `python3 is ${major}.${minor}, and they need ${least.join('.')}.`;
}
