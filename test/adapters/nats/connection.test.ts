import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
  // Each tries the servers in an order of its own.
  const connections = await Promise.all(Array.from({ length: 10 }, () => connectNats(url, { name: 'test', logger })));
  onTestFinished(() => Promise.all(connections.map((connection) => connection.close())).then(() => undefined));
  await server.stop();

  // The clients of both have the same password.
  mkdirSync(second);
  copyFileSync(join(first, 'password'), join(second, 'password'));
  const other = await launchNatsServer({ dataDirectory: second, port });
  onTestFinished(() => other.stop().then(() => undefined));
  await waitFor(
    async () => (await Promise.all(connections.map((each) => askNats(each, 1_000)))).every((said) => said === 'ok'),
    { what: 'all connections to be there again' },
  );
  expect(connections.map((connection) => connection.getServer())).toEqual(connections.map(() => `127.0.0.1:${port}`));
});
