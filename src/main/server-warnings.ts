import { accessBy } from '../adapters/event-store/address.ts';
import { everyCommitWaits } from '../adapters/postgres/store-on-standby.ts';
import type { Connections } from './connect.ts';
import { isLoopback } from './settings/setting-kinds.ts';

/** Warnings about the servers of an operator. They neither delay a start nor end one, and say nothing where they cannot find out. */

const timeoutMs = 5_000;

/**
 * Warns once if the event store lets this process do more than the service needs: whoever took the process over could remove
 * what the log has recorded.
 */
export function warnOfExcessRights({ store, logger, addresses }: Connections): void {
  const { hasUser, hosts } = accessBy(addresses.eventStoreUrl);
  // The embedded event store has no users; it serves root, and the user who runs it.
  if (!hasUser && hosts.every(({ host }) => isLoopback(host))) return;
  store.excessRights({ timeoutMs }).then(
    (rights) => {
      if (rights.length > 0) logger.warn({ rights }, hasUser ? userHasMore : nobodyIsAsked);
    },
    (err: unknown) => logger.debug({ err }, 'the rights in the event store could not be found out'),
  );
}

const userHasMore =
  'the user of the event store may do more than the service needs; deploy/event-store/set-users.ts makes one with the least rights';
const nobodyIsAsked =
  'the event store asks for no user, so that whoever reaches it may do all this; give it TLS, then run deploy/event-store/set-users.ts';

/** Warns once if the service stops whenever no standby of Postgres confirms its commits. */
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
