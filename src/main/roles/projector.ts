import { projections } from '../../../projections/all.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { connectionsOfRebuild, wholeTableMs } from '../../../projections/runner/rebuild.ts';
import { runProjections } from '../../../projections/runner/runner.ts';
import { rebuildUnsigned } from '../../../projections/runner/unsigned-rows.ts';
import { leadWhenAlone } from '../../adapters/postgres/leadership.ts';
import { openPool } from '../../adapters/postgres/pool.ts';
import { watchProjections } from '../gauges.ts';
import type { StartRole } from './role.ts';

/** Keys come last: requests wait for the rows that they lock. */
const inOrder = [...projections.filter((projection) => projection !== apiKeys), apiKeys];

export const startProjector: StartRole = (connections) => {
  const { databaseUrl } = connections.addresses;
  const observer = watchProjections(connections, () => projector);
  const projector = leadWhenAlone('projector', {
    ...connections,
    url: databaseUrl,
    lead: () => {
      observer.begin();
      const running = runProjections(inOrder, { ...connections, observer });
      const oneRebuild = { max: connectionsOfRebuild(1), queryTimeoutMs: wholeTableMs };
      const wholeTables = openPool(databaseUrl, { ...connections, ...oneRebuild });
      const signing = rebuildUnsigned(projections, { ...connections, pool: wholeTables });
      return async () => {
        await Promise.all([signing.stop(), running.close()]);
        await wholeTables.end();
      };
    },
  });
  return projector;
};
