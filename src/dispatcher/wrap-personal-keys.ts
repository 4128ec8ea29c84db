import type { Background } from '../async/background.ts';
import { type LoopDependencies, startLoop } from './repeat.ts';

interface WrappingDependencies extends LoopDependencies {
  /** @returns the number of keys that were wrapped anew */
  wrapWithCurrentSecret: () => Promise<number>;
}

const defaultEveryMs = 10_000;

/**
 * After a change of the secret, wraps the keys of personal data with the new one: they are made once, and would be lost with the
 * old one. It goes on, because processes that have not restarted yet make keys under the old one.
 */
export function startWrappingKeys(dependencies: WrappingDependencies): Background {
  return startLoop(
    'the keys of personal data',
    dependencies,
    async ({ wrapWithCurrentSecret, logger }) => {
      const keys = await wrapWithCurrentSecret();
      if (keys > 0) logger.info({ keys }, 'keys of personal data are wrapped with the current secret now');
    },
    defaultEveryMs,
  );
}
