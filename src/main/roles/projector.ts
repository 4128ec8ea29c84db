import { projections } from '../../../projections/all.ts';
import { runProjection } from '../../../projections/runner.ts';
import { leadWhenAlone } from '../../adapters/leadership.ts';
import { watchProjections } from '../watch.ts';
import type { StartRole } from '../role.ts';

export const startProjector: StartRole = (connections) => {
  const { store, pool, logger, outages, addresses } = connections;
  const observer = watchProjections(connections, () => projector);
  const projector = leadWhenAlone('projector', {
    url: addresses.databaseUrl,
    logger,
    outages,
    lead: () => {
      observer.begin();
      const running = projections.map((projection) => runProjection(projection, { store, pool, logger, observer }));
      return async () => {
        await Promise.all(running.map((subscription) => subscription.close()));
      };
    },
  });
  return projector;
};
