import { forgetServiceFailure, listServiceFailures } from '../../projections/work-lists/service-failures.ts';
import type { Background } from '../async/background.ts';
import { type ReturnDependencies, returnServiceFailure } from '../commands/return-service-failure.ts';
import { type ListDependencies, workThroughList } from './work-through-list.ts';

const stepTimeoutMs = 5_000;

/**
 * Gives back what failed by the service's own fault. Which downloads these are stands in a list that `dispatch-downloads.ts`
 * fills; whether and how much is decided in the log, at the exact revision. One that is done leaves the list; whatever is
 * killed in between, it is looked at again and found done.
 */
export function startReturningServiceFailures(dependencies: ListDependencies & ReturnDependencies): Background {
  const { pool, logger } = dependencies;
  return workThroughList(
    {
      part: 'the return of service failures',
      read: async (look) => (await listServiceFailures(pool, look)).map((token) => ({ token })),
      idOf: ({ token }) => token,
      work: async ({ token }) => {
        const returned = await returnServiceFailure(dependencies, { token, timeoutMs: stepTimeoutMs });
        if (returned !== 'not_invoiced') await forgetServiceFailure(pool, token);
        logger.info({ token, returned }, 'service failure: charge returned or kept');
      },
      what: 'a return',
    },
    dependencies,
  );
}
