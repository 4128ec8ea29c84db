import { connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { startInstallation } from '../support/installation.ts';
import { listen } from '../support/listen.ts';
import { withClient } from '../support/postgres.ts';

/** Longer than one try to read the log. */
const slowMs = 6_000;

it('an API that starts while the log is slow admits nothing before it knows that the log was not replaced', async () => {
  await using installation = await startInstallation();
  const { environment } = installation;
  const projector = await installation.startRole('projector');
  const account = await installation.openAccount('dev_100');
  await projector.stop();
  // As if another log stood in the place of the one that was read.
  await withClient(environment.DATABASE_URL, (client) =>
    client.query('update checkpoints set seen_id = gen_random_uuid() where seen_id is not null'),
  );
  // The start comes to NATS once the event store has answered. The check of the log comes after that.
  const url = new URL(environment['NATS_URL'] ?? '');
  const { hostname, port } = url;
  const nats = createServer((client) => {
    installation.silenceEventStore();
    setTimeout(installation.wakeEventStore, slowMs);
    const server = connect(Number(port), hostname);
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.pipe(server).pipe(client);
  });
  const listening = await listen(nats);
  const api = await installation.startRole('api', {
    NATS_URL: Object.assign(url, { port: String(listening.port) }).href,
  });
  expect(await call(api.url, '/credits', account)).toMatchObject({ status: 503, code: 'unavailable' });
  await api.stop();
  await listening.close();
});
