/**
 * The attempts of another user of the machine. Root starts it, as one of:
 *
 *     as-another-user.ts USER append URL           with the client; prints "stored", or the error
 *     as-another-user.ts USER append-and-close PORT  sends an append, and closes before anybody looks
 *     as-another-user.ts USER serve FOLDER         an event store of that user; prints its port
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { openDatabase } from '../../../src/embedded/event-store/database.ts';
import { startServer } from '../../../src/embedded/event-store/server.ts';
import { becomeUser, bytesOfAppend } from './other-user.ts';

const [, , user = '', what = '', where = ''] = process.argv;
becomeUser(Number(user));
if (what === 'serve') {
  const options = { database: openDatabase(where), port: 0, onFailure: () => process.exit(1) };
  console.log((await startServer(options)).port);
  process.stdin.on('end', () => process.exit()).resume();
} else if (what === 'append') {
  const client = EventStoreDBClient.connectionString(where);
  const appended = client.appendToStream('forged', jsonEvent({ type: 'forged', data: {} }));
  console.log(await appended.then(() => 'stored').catch((error: unknown) => String(error)));
  await client.dispose();
} else {
  const socket = connect(Number(where), '127.0.0.1');
  await once(socket, 'connect');
  socket.end(bytesOfAppend('forged'));
  await once(socket, 'finish');
  socket.destroy();
}
