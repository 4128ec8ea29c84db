import { beforeAll, describe, expect, it } from 'vitest';
import type { ChargeToVoid, PendingVoids, PeriodClosings, UnknownAppend } from '../../../src/ports/billing.ts';
import { newId, newUuid } from '../../../src/system/clock-and-chance.ts';
import { promised } from '../../dispatcher/resolving.ts';

export interface PendingVoidsUnderTest {
  pendingVoids: PendingVoids;
  closings: PeriodClosings;
}

function freshAppend(): UnknownAppend {
  const accountId = newId('acc');
  const data = { token: 'a', text: 'ä "\u2028', nothing: null, some: [1, 2.5] };
  const events = [1, 2].map(() => ({ id: newUuid(), type: 'Tested', data, metadata: { time: promised.at } }));
  return { accountId, stream: `usage-${accountId}-20261101`, expected: 7, events };
}

const download = (token: string): ChargeToVoid => ({ kind: 'download', token });
const asListed = (charge: ChargeToVoid) => ({ ...charge, promised, mac: expect.any(String) as string });

/** Tests the promises of the ports of pending voids and closings (src/ports/billing.ts), of Postgres or of the simulated tables. */
export function pendingVoidsContract(open: () => PendingVoidsUnderTest): void {
  let pendingVoids: PendingVoids;
  let closings: PeriodClosings;
  beforeAll(() => void ({ pendingVoids, closings } = open()));

  const listed = async ({ stream }: UnknownAppend) =>
    (await pendingVoids.list(1_000)).filter(({ append }) => append.stream === stream);

  describe('a pending void', () => {
    it.each(['no_stream' as const, 0, 7])(
      'is listed with its append as it was given, at revision %s',
      async (expected) => {
        const append = { ...freshAppend(), expected };
        const charge: ChargeToVoid = { kind: 'lookup', lookup_id: newUuid() };
        expect(await pendingVoids.add(append, charge)).toBe(true);
        expect(await listed(append)).toEqual([{ append, voids: [asListed(charge)] }]);
      },
    );

    it('has the charges of its append in the order in which they were added', async () => {
      const append = freshAppend();
      for (const token of ['b', 'a', 'c']) await pendingVoids.add(append, download(token));
      const voids = ['b', 'a', 'c'].map((token) => asListed(download(token)));
      expect(await listed(append)).toEqual([{ append, voids }]);
    });

    it('that was added first is listed first, and no more are listed than wanted', async () => {
      for (const { append } of await pendingVoids.list(1_000))
        for (const each of await listed(append)) await pendingVoids.remove(each);
      const appends = [freshAppend(), freshAppend(), freshAppend()];
      for (const append of appends) await pendingVoids.add(append, download('a'));
      // Another charge does not make it younger.
      await pendingVoids.add(appends[0]!, download('b'));
      expect((await pendingVoids.list(1_000)).map(({ append }) => append)).toEqual(appends);
      expect((await pendingVoids.list(2)).map(({ append }) => append)).toEqual(appends.slice(0, 2));
    });

    it('that is removed is gone, and may be removed again', async () => {
      const append = freshAppend();
      await pendingVoids.add(append, download('a'));
      const [pending] = await listed(append);
      await pendingVoids.remove(pending!);
      await pendingVoids.remove(pending!);
      expect(await listed(append)).toEqual([]);
    });

    it('loses the charges that were listed alone: one that was added meanwhile stays', async () => {
      const append = freshAppend();
      for (const token of ['a', 'b']) await pendingVoids.add(append, download(token));
      const [pending] = await listed(append);
      await pendingVoids.add(append, download('c'));
      // As it is for whoever has listed it: nothing but its content is the same.
      await pendingVoids.remove(structuredClone(pending!));
      expect(await listed(append)).toEqual([{ append, voids: [asListed(download('c'))] }]);
    });

    it('that was listed does not change', async () => {
      const append = freshAppend();
      await pendingVoids.add(append, download('a'));
      const [pending] = await listed(append);
      await pendingVoids.add(append, download('b'));
      expect(pending?.voids).toEqual([asListed(download('a'))]);
    });
  });

  describe('the gate of a closing', () => {
    it('lets no pending void of its stream through any more, and those of others', async () => {
      const [append, other] = [freshAppend(), freshAppend()];
      expect(await closings.begin(append.stream)).toBe(true);
      expect(await closings.begin(append.stream)).toBe(true);
      expect(await pendingVoids.add(append, download('a'))).toBe(false);
      expect(await listed(append)).toEqual([]);
      expect(await pendingVoids.add(other, download('a'))).toBe(true);
    });

    it('stays open while a pending void names the stream', async () => {
      const append = freshAppend();
      await pendingVoids.add(append, download('a'));
      expect(await closings.begin(append.stream)).toBe(false);
      expect(await pendingVoids.add(append, download('b'))).toBe(true);
      for (const pending of await listed(append)) await pendingVoids.remove(pending);
      expect(await closings.begin(append.stream)).toBe(true);
    });

    it('and a pending void that come at once never both succeed', async () => {
      for (let times = 0; times < 20; times += 1) {
        const append = freshAppend();
        const both = [closings.begin(append.stream), pendingVoids.add(append, download('a'))];
        expect((await Promise.all(both)).toSorted()).toEqual([false, true]);
      }
    });
  });
}
