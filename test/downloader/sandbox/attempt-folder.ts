import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of an attempt, as a worker makes it. */
export function attemptIn(directory: string, name: string): string {
  const attempt = join(directory, name);
  mkdirSync(attempt, { mode: 0o700 });
  return attempt;
}
