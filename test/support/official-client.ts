import { EventStoreDBClient } from '@eventstore/db-client';

/** Opens the event store's own client for the length of `work`, beside the service's adapter. */
export async function withOfficialClient<Result>(
  url: string,
  work: (client: EventStoreDBClient) => Promise<Result>,
): Promise<Result> {
  const client = EventStoreDBClient.connectionString(url);
  try {
    return await work(client);
  } finally {
    await client.dispose();
  }
}
