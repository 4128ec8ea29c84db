import { START } from '@eventstore/db-client';
import { withOfficialClient } from './official-client.ts';

export interface LoggedEvent {
  stream: string;
  revision: number;
  id: string;
  type: string;
  data: unknown;
  metadata: unknown;
}

/** Every event of the streams with this prefix but the store's own, in the order of the log, read by the official client itself. */
export async function readLog(eventStoreUrl: string, prefix = ''): Promise<LoggedEvent[]> {
  return withOfficialClient(eventStoreUrl, async (client) => {
    const events: LoggedEvent[] = [];
    for await (const { event } of client.readAll({ fromPosition: START })) {
      if (!event?.streamId.startsWith(prefix) || event.streamId.startsWith('$')) continue;
      const { streamId, revision, id, type, data, metadata } = event;
      events.push({ stream: streamId, revision: Number(revision), id, type, data, metadata });
    }
    return events;
  });
}
