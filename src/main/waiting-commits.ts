import { everyCommitWaits } from '../adapters/postgres/store-on-standby.ts';
import type { Connections } from './connect.ts';

/** Warns once if the service stops whenever no standby of Postgres confirms its commits. It neither delays a start nor ends one. */
export function warnOfWaitingCommits({ pool, logger }: Connections): void {
  everyCommitWaits(pool).then(
    (waits) => {
      if (waits) logger.warn(everyoneWaits);
    },
    (err: unknown) => logger.debug({ err }, 'whether commits wait for a standby could not be found out'),
  );
}

const everyoneWaits =
  'every commit waits for a standby of Postgres, so that the service stops while none confirms; set synchronous_commit to local for its user (docs/operations.md)';
