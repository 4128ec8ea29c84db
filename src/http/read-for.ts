import type { Pool } from 'pg';
import type { EndpointDependencies } from './endpoint.ts';
import { ApiError } from './errors.ts';

/**
 * Asks Postgres for an endpoint, beside its admission.
 *
 * @throws {ApiError} unavailable where Postgres does not answer
 */
export async function readFor<Result>(
  { pool, serviceParts, partsAway }: Pick<EndpointDependencies, 'pool' | 'serviceParts' | 'partsAway'>,
  read: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const part = serviceParts.of('reads of the API');
  try {
    const result = await read(pool);
    part.works();
    partsAway.works('postgres');
    return result;
  } catch (error) {
    part.failed('a read', error);
    throw new ApiError('unavailable', { away: 'postgres' });
  }
}
