import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { forgetServiceFailure, listServiceFailures } from '../../projections/work-lists/service-failures.ts';
import { type ReturnDependencies, returnServiceFailure } from '../commands/return-service-failure.ts';
import { servicePart, type ServiceParts } from '../ports/service-parts.ts';
import { workThroughList } from './work-through-list.ts';

interface ReturnFailuresDependencies extends ReturnDependencies {
  pool: Pool;
  logger: Logger;
  serviceParts?: ServiceParts | undefined;
  everyMs?: number;
  setAsideMs?: number;
}

const stepTimeoutMs = 5_000;

/**
 * Gives back what failed by the service's own fault. Which downloads these are stands in a list that `dispatch-downloads.ts`
 * fills; whether and how much is decided in the log, at the exact revision. One that is done leaves the list; whatever is
 * killed in between, it is looked at again and found done.
 */
export function startReturningServiceFailures(dependencies: ReturnFailuresDependencies): { stop: () => Promise<void> } {
  const { pool, logger } = dependencies;
  const part = servicePart(dependencies, 'the return of service failures');
  return workThroughList(
    {
      read: async (look) => (await listServiceFailures(pool, look)).map((token) => ({ token })),
      idOf: ({ token }) => token,
      work: async ({ token }) => {
        const returned = await returnServiceFailure(dependencies, { token, timeoutMs: stepTimeoutMs });
        if (returned !== 'not_invoiced') await forgetServiceFailure(pool, token);
        logger.info({ token, returned }, 'service failure: charge returned or kept');
      },
      what: 'a return',
    },
    { ...dependencies, part },
  );
}
