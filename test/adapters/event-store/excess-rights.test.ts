import { START } from '@eventstore/db-client';
import { expect, onTestFinished, test } from 'vitest';
import { deadUrl } from '../../support/event-store.ts';
import { openAdapter } from '../../support/event-store-adapter.ts';
import { collect, eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';
import { startRefusingEventStore } from '../../support/refusing-event-store.ts';
import { patienceMs } from '../../support/wait-for.ts';

const server = eventStoreUnderTest();
const timeoutMs = patienceMs;

test('a server without users allows everything, and asking it leaves nothing in the log', async () => {
  const prefix = freshStream();
  const store = openAdapter({ url: server.url, streams: { prefix, isOurs: () => true } });
  const all = ['delete streams', 'write metadata of streams', 'delete system streams'];
  expect(await store.excessRights({ timeoutMs })).toEqual(all);
  expect(await store.excessRights({ timeoutMs })).toEqual(all);
  const events = await collect(server.client.readAll({ fromPosition: START }));
  expect(events.filter(({ event }) => event?.streamId.includes(prefix))).toEqual([]);
});

test('a server that denies access to all of it allows nothing', async () => {
  const refusing = await startRefusingEventStore('access denied');
  onTestFinished(() => refusing[Symbol.asyncDispose]());
  const store = openAdapter({ url: refusing.url });
  expect(await store.excessRights({ timeoutMs })).toEqual([]);
});

test.each<[string, () => Promise<string>]>([
  ['is away', deadUrl],
  [
    'does not know the user',
    async () => {
      const refusing = await startRefusingEventStore('unauthenticated');
      onTestFinished(() => refusing[Symbol.asyncDispose]());
      return refusing.url;
    },
  ],
])('of a server that %s, nothing is concluded', async (_case, urlOf) => {
  const store = openAdapter({ url: await urlOf() });
  await expect(store.excessRights({ timeoutMs: 300 })).rejects.toThrow('No answer within 300 ms.');
});
