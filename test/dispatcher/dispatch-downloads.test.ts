import { describe, expect, it } from 'vitest';
import { readReached } from '../../projections/runner/checkpoints.ts';
import { type JobMessage, jobRevisionIn, messageId } from '../../src/ports/job-queue.ts';
import { waitFor } from '../support/wait-for.ts';
import { claimOne, dispatchingUnderTest, queueOne, releaseOne, startDispatcher, takeMessages } from './dispatching.ts';

const parts = dispatchingUnderTest();

/** Waits until everything that is in the log now has been looked at. */
async function dispatched(): Promise<void> {
  const head = (await parts.store.headPosition()) ?? 0n;
  await waitFor(async () => (await readReached(parts.models.pool, 'dispatch')) >= head, {
    what: 'the dispatcher at the end of the log',
  });
}

/** The queue promises no order. */
const inOrder = (messages: JobMessage[]) => messages.toSorted((one, other) => (one.token < other.token ? -1 : 1));

describe('the dispatcher', () => {
  it('publishes each queued download once, and again when it is released', async () => {
    const before = await queueOne(parts);
    const dispatcher = startDispatcher(parts);
    const after = await queueOne(parts);
    expect(inOrder(await takeMessages(parts, 2))).toEqual(inOrder([before, after]));

    const claim = await claimOne(parts, before, { workerId: 'wrk_aaaaaaaaaaaaaaaa', now: '2026-11-14T13:00:00.000Z' });
    await dispatched();
    await releaseOne(parts, before, { claim, now: '2026-11-14T13:00:01.000Z' });
    expect(await takeMessages(parts, 1)).toEqual([before]);
    await dispatcher.close();
  });

  it('goes on after a pause where it was, and two at once publish no message twice', async () => {
    const first = startDispatcher(parts);
    await dispatched();
    await first.close();
    const messages = [await queueOne(parts), await queueOne(parts), await queueOne(parts)];
    const both = [startDispatcher(parts), startDispatcher(parts)];
    await dispatched();
    expect(inOrder(await takeMessages(parts, 3))).toEqual(inOrder(messages));
    await Promise.all(both.map((each) => each.close()));
  });
});

it('a message is named by the job, its last event and the repetition', () => {
  expect(messageId('TokenOfDownload-0001', -1, 0)).toBe('TokenOfDownload-0001:-1:0');
  expect(messageId('TokenOfDownload-0001', 3, 2)).toBe('TokenOfDownload-0001:3:2');
  expect([messageId('a', -1, 0), messageId('a', -1, 4), messageId('a', 1, 0), ''].map(jobRevisionIn)).toEqual([
    -1,
    -1,
    1,
    undefined,
  ]);
});
