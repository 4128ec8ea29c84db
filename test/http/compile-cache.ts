import { rmSync } from 'node:fs';
import { afterAll } from 'vitest';
import type { Environment } from '../support/service.ts';
import { makeTemporaryDirectory } from '../support/temporary-directory.ts';

const directory = makeTemporaryDirectory();

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Node keeps here what it has compiled, so that all but the first process of a test file start in half the time. */
export const compileCache: Environment = { NODE_COMPILE_CACHE: directory };
