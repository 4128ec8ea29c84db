import { describe, expect, it } from 'vitest';
import { type JobMessage, type JobQueue, messageId, type ReceivedJob } from '../../../src/ports/job-queue.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface JobQueueUnderTest {
  queue: JobQueue;
  /** The same queue, as another worker has it. */
  another: JobQueue;
  /** Messages that are not acknowledged. */
  size: () => Promise<number>;
  /** True while somebody waits for a message. */
  isAwaited: () => Promise<boolean>;
  /** From now on a message is delivered again if it was not acknowledged for so long. */
  redeliverAfter: (ms: number) => Promise<void>;
}

export const messageOf = (number: number): JobMessage => ({
  token: `TokenOfDownload-${String(number).padStart(4, '0')}`,
  usageStream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
  usageRevision: number * 2,
});

export async function nextOf(queue: JobQueue): Promise<ReceivedJob> {
  const received = await queue.next(new AbortController().signal);
  if (!received) throw new Error('the queue is empty');
  return received;
}

/** Tests the promises of the port (src/ports/job-queue.ts), of the real adapter or of the simulated queue without faults. */
export function jobQueueContract(underTest: () => JobQueueUnderTest): void {
  const never = new AbortController().signal;
  const isEmpty = () => waitFor(async () => (await underTest().size()) === 0, { what: 'an empty queue' });

  describe('a message', () => {
    it('is delivered once to one of the workers, and is gone when it is acknowledged', async () => {
      const { queue, another, size } = underTest();
      await queue.publish(messageOf(1), 'one');
      await queue.publish(messageOf(2), 'two');
      const [first, second] = [await nextOf(queue), await nextOf(another)];
      expect([first.message, second.message]).toEqual([messageOf(1), messageOf(2)]);
      expect([first.deliveries, second.deliveries]).toEqual([1, 1]);
      expect(await size()).toBe(2);
      first.keepAlive();
      first.acknowledge();
      second.acknowledge();
      await isEmpty();
    });

    it('hands on the span that it comes from, or none', async () => {
      const { queue } = underTest();
      const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
      await queue.publish(messageOf(1), 'one', traceparent);
      await queue.publish(messageOf(2), 'two');
      expect([await nextOf(queue), await nextOf(queue)].map((received) => received.traceparent)).toEqual([
        traceparent,
        undefined,
      ]);
    });

    it('tells the revision of the job that its id names', async () => {
      const { queue } = underTest();
      await queue.publish(messageOf(1), messageId(messageOf(1).token, -1, 0));
      await queue.publish(messageOf(2), messageId(messageOf(2).token, 17, 3));
      await queue.publish(messageOf(3), 'of another form');
      const received = [await nextOf(queue), await nextOf(queue), await nextOf(queue)];
      expect(received.map(({ jobRevision }) => jobRevision)).toEqual([-1, 17, undefined]);
    });

    it('of an id that the queue has had already is not taken again', async () => {
      const { queue, size } = underTest();
      await queue.publish(messageOf(1), 'one');
      await queue.publish(messageOf(1), 'one');
      expect(await size()).toBe(1);
      (await nextOf(queue)).acknowledge();
      await isEmpty();
      await queue.publish(messageOf(1), 'one');
      await queue.publish(messageOf(1), 'one again');
      expect(await size()).toBe(1);
    });

    it('that was postponed comes again, and not before its time', async () => {
      const { queue } = underTest();
      await queue.publish(messageOf(1), 'one');
      const postponedAtMs = performance.now();
      (await nextOf(queue)).postpone(600);
      const again = await nextOf(queue);
      expect([again.message, again.deliveries]).toEqual([messageOf(1), 2]);
      expect(performance.now() - postponedAtMs).toBeGreaterThanOrEqual(550);
      again.acknowledge();
      await isEmpty();
    });

    it('that nobody acknowledges is delivered again, and one that is kept alive is not', async () => {
      const { queue, redeliverAfter } = underTest();
      const ackWaitMs = 2_500;
      await queue.publish(messageOf(1), 'one');
      await queue.publish(messageOf(2), 'two');
      await redeliverAfter(ackWaitMs);
      const takenAtMs = performance.now();
      const kept = await nextOf(queue);
      const left = await nextOf(queue);
      expect([kept.message, left.message]).toEqual([messageOf(1), messageOf(2)]);
      const keeping = setInterval(() => kept.keepAlive(), 100);
      const again = await nextOf(queue);
      expect([again.message, again.deliveries]).toEqual([messageOf(2), 2]);
      expect(performance.now() - takenAtMs).toBeGreaterThanOrEqual(ackWaitMs - 50);
      again.acknowledge();
      // An acknowledgement of the earlier delivery changes nothing any more.
      left.acknowledge();
      expect(await queue.next(never)).toBeUndefined();
      clearInterval(keeping);
      kept.acknowledge();
      await isEmpty();
    });
  });

  describe('a worker', () => {
    it('that does not wait gets what is there, or nothing', async () => {
      const { queue } = underTest();
      await queue.publish(messageOf(1), 'one');
      expect((await queue.next(never, false))?.message).toEqual(messageOf(1));
      expect(await queue.next(never, false)).toBeUndefined();
    });

    it('that waits gets what comes meanwhile', async () => {
      const { queue, another, isAwaited } = underTest();
      await queue.publish(messageOf(1), 'one');
      (await nextOf(queue)).acknowledge();
      const pulling = queue.next(never);
      await waitFor(isAwaited, { what: 'the pull' });
      await another.publish(messageOf(2), 'two');
      expect((await pulling)?.message).toEqual(messageOf(2));
    });

    it('that stops no longer waits for a message', async () => {
      const { queue, isAwaited } = underTest();
      await queue.publish(messageOf(1), 'one');
      (await nextOf(queue)).acknowledge();
      const stopping = new AbortController();
      const pulling = queue.next(stopping.signal);
      await waitFor(isAwaited, { what: 'the pull' });
      const stoppedAtMs = performance.now();
      stopping.abort();
      expect(await pulling).toBeUndefined();
      expect(performance.now() - stoppedAtMs).toBeLessThan(atMostMs(2_000));
    });

    it('that has stopped takes none any more', async () => {
      const { queue } = underTest();
      await queue.publish(messageOf(1), 'one');
      expect(await queue.next(AbortSignal.abort())).toBeUndefined();
      expect((await nextOf(queue)).message).toEqual(messageOf(1));
    });
  });
}
