import { projections } from '../../../projections/all.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { connectionsOfRebuild } from '../../../projections/runner/rebuild.ts';
import { runProjections } from '../../../projections/runner/runner.ts';
import { rebuildUnsigned } from '../../../projections/runner/unsigned-rows.ts';
import { leadWhenAlone } from '../../adapters/postgres/leadership.ts';
import { openPool } from '../../adapters/postgres/pool.ts';
import { watchProjections } from '../gauges.ts';
import type { StartRole } from './role.ts';

/** Its queries compare whole tables. */
const wholeTableMs = 3_600_000;

/** Keys come last: requests wait for the rows that they lock. */
const inOrder = [...projections.filter((projection) => projection !== apiKeys), apiKeys];

export const startProjector: StartRole = (connections) => {
  const { store, pool, macs, logger, serviceParts, addresses } = connections;
  const observer = watchProjections(connections, () => projector);
  const projector = leadWhenAlone('projector', {
    url: addresses.databaseUrl,
    logger,
    serviceParts,
    lead: () => {
      observer.begin();
      const running = runProjections(inOrder, { store, pool, macs, logger, observer });
      const oneRebuild = { max: connectionsOfRebuild(1), queryTimeoutMs: wholeTableMs };
      const wholeTables = openPool(addresses.databaseUrl, { logger, serviceParts, ...oneRebuild });
      const signing = rebuildUnsigned(projections, { store, pool: wholeTables, macs, logger });
      return async () => {
        await Promise.all([signing.stop(), running.close()]);
        await wholeTables.end();
      };
    },
  });
  return projector;
};
