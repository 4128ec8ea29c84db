import { once } from 'node:events';
import { expect, it } from 'vitest';
import { tellWait } from '../../src/cli/wait-for-read-models.ts';
import { portOf } from '../support/event-store.ts';
import { EventStoreProxy } from '../support/event-store-proxy.ts';
import { startInstallation } from '../support/installation.ts';
import { spawnCommand } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

it('a command outlasts an event store that says nothing for some seconds', async () => {
  await using installation = await startInstallation();
  await installation.startRole('projector');
  const { accountId } = await installation.openAccount('dev_100');
  const proxy = await EventStoreProxy.start(portOf(installation.environment.EVENTSTORE_URL));
  proxy.silence();
  const environment = { ...installation.environment, EVENTSTORE_URL: proxy.url };
  const command = spawnCommand(['keys', 'issue', '--json', accountId], environment);
  let stdout = '';
  command.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const closed = once(command, 'close');
  // Each connection is given up after three seconds of silence.
  await waitFor(() => proxy.connections > 2 || command.exitCode !== null, {
    what: 'the command to connect for the third time',
  });
  proxy.heal();
  expect(await closed).toEqual([0, null]);
  expect(JSON.parse(stdout)).toMatchObject({ account_id: accountId, key: expect.stringMatching(/^rtk_/) as unknown });
  await proxy.close();
});

it('a person is told what a command waits for, once; a program is told nothing', async () => {
  for (const terminal of [true, false]) {
    const told: string[] = [];
    const { promise, resolve } = Promise.withResolvers<number>();
    const waiting = tellWait({ terminal, tell: (text) => told.push(text) }, 'the event store', promise);
    if (terminal) await waitFor(() => told.length > 0, { what: 'the person to be told' });
    resolve(7);
    expect(await waiting).toBe(7);
    expect(told).toEqual(terminal ? ['waiting for the event store\n'] : []);
  }
});
