import type { PoolClient } from 'pg';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import { isTermsEvent, type UsageEvent } from '../src/domain/usage-events.ts';
import { insertRows } from './write-rows.ts';

/**
 * The read model that finds the changes of an account's terms among its charges: table `usage_changes`, one row per event. The
 * events themselves stand in the log alone.
 */
export async function applyToUsageChanges(
  events: readonly ParsedEvent<UsageEvent>[],
  client: PoolClient,
): Promise<void> {
  const rows = events.flatMap(({ event, stream, revision, id, position, metadata }) =>
    isTermsEvent(event)
      ? [
          {
            event_id: id,
            account_id: periodOfUsageStream(stream).accountId,
            stream,
            revision,
            position: position.toString(),
            time: metadata.time,
            type: event.type,
          },
        ]
      : [],
  );
  await insertRows(client, 'usage_changes', rows);
}
