import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const preload = fileURLToPath(new URL('shifted-clock.ts', import.meta.url));

/** A machine's clock that is wrong, and can be set. */
export interface WrongClock {
  /** For the processes on that machine. */
  environment: Environment;
  /** @param seconds by how much it is ahead */
  set: (seconds: number) => void;
}

/** @param seconds by how much it is ahead at first */
export function wrongClock(seconds: number): WrongClock {
  const file = join(temporaryDirectory(), 'shift');
  const set = (aheadSeconds: number) => {
    // In one step: a process never reads half a number.
    writeFileSync(`${file}.new`, String(aheadSeconds * 1_000));
    renameSync(`${file}.new`, file);
  };
  set(seconds);
  return {
    environment: {
      NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${preload}`,
      SHIFTED_CLOCK: file,
    },
    set,
  };
}
