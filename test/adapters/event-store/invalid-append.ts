/** Sends one append that no server takes, and prints the type of the error: `invalid-append.ts URL HOW STREAM`. */

import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, isCommandError, jsonEvent } from '@eventstore/db-client';

const [, , url = '', how = '', stream = ''] = process.argv;
const client = EventStoreDBClient.connectionString(url);
const event = jsonEvent({
  id: how === 'id that is no uuid' ? 'no-uuid' : randomUUID(),
  type: how === 'empty type' ? '' : 'some-type',
  data: {},
});

try {
  await client.appendToStream(how === 'empty name' ? '' : stream, event);
  console.log('stored');
} catch (error) {
  console.log(error instanceof Error && isCommandError(error) ? error.type : String(error));
}
process.exit(0);
