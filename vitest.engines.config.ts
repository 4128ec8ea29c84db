import { defineConfig } from 'vitest/config';
import { settings } from './vitest.config.ts';

/**
 * What is said of an engine, and the story over all of them, against real engines: in containers, or wherever they are. One file
 * at a time, because the engines are shared.
 */
export default defineConfig({
  test: {
    ...settings,
    include: [
      'test/adapters/event-store/**/*.test.ts',
      'test/adapters/postgres/{pool-and-migrations,leadership}.test.ts',
      'test/adapters/nats/*.test.ts',
      'test/projections/admission/admission.test.ts',
      'test/projections/runner/resume.test.ts',
      'test/commands/log-outages.test.ts',
      'test/commands/usage/{false-state,log-tail}.test.ts',
      'test/flow/one-download.test.ts',
    ],
    globalSetup: ['test/support/engines-setup.ts', 'test/support/global-setup.ts'],
    fileParallelism: false,
  },
});
