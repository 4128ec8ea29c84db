import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { askNats, connectNats } from '../../../src/adapters/nats/connection.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import { launchNatsServer } from '../../../src/embedded/nats-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const logger = pino({ level: 'silent' });

it('a server that was away when a process started is tried once the others are away', async () => {
  const [first, second] = [temporaryDirectory(), join(temporaryDirectory(), 'second')];
  const port = await freePort();
  const server = await launchNatsServer({ dataDirectory: first });
  onTestFinished(() => server.stop().then(() => undefined));
  const url = server.url.replace('@', `@127.0.0.1:${port},`);
  const connections = await connectTen(url);
  await server.stop();

  // The clients of both have the same password.
  mkdirSync(second);
  copyFileSync(join(first, 'password'), join(second, 'password'));
  const other = await launchNatsServer({ dataDirectory: second, port });
  onTestFinished(() => other.stop().then(() => undefined));
  await waitUntilBack(connections);
  expect(connections.map((connection) => connection.getServer())).toEqual(connections.map(() => `127.0.0.1:${port}`));
});

it('a server that refuses the password does not keep a process from coming back to another one', async () => {
  const [first, refusing] = [temporaryDirectory(), temporaryDirectory()];
  const server = await launchNatsServer({ dataDirectory: first });
  const refuser = await launchNatsServer({ dataDirectory: refusing });
  onTestFinished(() => refuser.stop().then(() => undefined));
  const url = server.url.replace('@', `@${new URL(refuser.url).host},`);
  const connections = await connectTen(url);
  await server.stop();
  // Each has been refused again.
  const refusals = () => readFileSync(refuser.logFile, 'utf8').match(/authentication error/g)?.length ?? 0;
  await waitFor(() => refusals() > 30, { what: 'refusals' });
  const again = await launchNatsServer({ dataDirectory: first, port: Number(new URL(server.url).port) });
  onTestFinished(() => again.stop().then(() => undefined));
  await waitUntilBack(connections);
});

/** Each tries the servers in an order of its own. */
async function connectTen(url: string): Promise<NatsConnection[]> {
  const connections = await Promise.all(Array.from({ length: 10 }, () => connectNats(url, { name: 'test', logger })));
  onTestFinished(() => Promise.all(connections.map((connection) => connection.close())).then(() => undefined));
  return connections;
}

async function waitUntilBack(connections: readonly NatsConnection[]): Promise<void> {
  await waitFor(
    async () => (await Promise.all(connections.map((each) => askNats(each, 1_000)))).every((said) => said === 'ok'),
    { what: 'all connections to be there again' },
  );
}
