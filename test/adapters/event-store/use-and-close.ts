/** Uses an adapter, closes it, says so and should then end by itself: `use-and-close.ts URL used|unused|unreachable`. */

import { randomUUID } from 'node:crypto';
import { connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { EventStoreClosed } from '../../../src/ports/event-store.ts';

const [, , url = '', how = ''] = process.argv;
const store = connectEventStore({ url });
const event = { id: randomUUID(), type: 'Some', data: {}, metadata: {} };
const subscription = store.subscribe({
  name: 'some',
  streamPrefixes: ['some'],
  from: () => Promise.resolve(undefined),
  apply: () => Promise.resolve(),
});
if (how === 'used') {
  await store.append(`some-${randomUUID()}`, 'no_stream', [event]);
  await store.headPosition();
  while (!subscription.caughtUp) await store.ready({ timeoutMs: 1000 });
}
if (how === 'unreachable') {
  store.append(`some-${randomUUID()}`, 'no_stream', [event]).catch((error: unknown) => {
    if (!(error instanceof EventStoreClosed)) throw error;
  });
}
await store.close();
console.log('closed');
