import { spawnSync } from 'node:child_process';

/** @returns why promtool cannot check the rules of the alerts here; undefined where it can */
export function whyNoPromtool(): string | undefined {
  if (spawnSync('promtool', ['--version']).status === 0) return undefined;
  return 'The program promtool is not here: install the package prometheus (apt-get install prometheus).';
}
