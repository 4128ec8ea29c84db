import { expect, it } from 'vitest';
import { dispatchCheckpoint, readCheckpoint } from '../../projections/runner/checkpoints.ts';
import { appendNumbers } from '../support/event-store-adapter.ts';
import { freshStream } from '../support/event-store-under-test.ts';
import { waitFor } from '../support/wait-for.ts';
import { claimOne, dispatchingUnderTest, queueOne, releaseOne, startDispatcher, takeMessages } from './dispatching.ts';

const parts = dispatchingUnderTest('behind-last-event');

it('a dispatcher that stood behind the last event dispatches the next one, at exactly that position', async () => {
  const { store, models } = parts;
  const message = await queueOne(parts);
  const claim = await claimOne(parts, message, { workerId: 'wrk_aaaaaaaaaaaaaaaa', now: '2026-11-14T13:00:00.000Z' });
  await appendNumbers(store, freshStream(), 0, 2);
  const before = startDispatcher(parts);
  expect(await takeMessages(parts, 1)).toEqual([message]);
  const next = ((await store.headPosition()) ?? 0n) + 1n;
  const stands = async () => (await readCheckpoint(models.pool, dispatchCheckpoint))?.position;
  await waitFor(async () => (await stands())?.commit === next, { what: 'the dispatcher behind the last event' });
  expect(await stands()).toEqual({ commit: next, prepare: 0n });
  await before.close();

  await releaseOne(parts, message, { claim, now: '2026-11-14T13:00:01.000Z' });
  expect(await store.readAll(next - 1n, 1)).toMatchObject([{ position: next, type: 'JobReleased' }]);
  const after = startDispatcher(parts);
  expect(await takeMessages(parts, 1)).toEqual([message]);
  await after.close();
});
