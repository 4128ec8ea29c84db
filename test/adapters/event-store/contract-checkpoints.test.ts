import { END, type Position, START, streamNameFilter } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { endsOfCatchUp } from '../../../src/embedded/event-store/checkpoints.ts';
import {
  collect,
  eventStoreUnderTest,
  foreignUrl,
  freshStream,
  listenTo,
  streamOf,
  testEvent,
} from '../../support/event-store-under-test.ts';
import { waitFor } from '../../support/wait-for.ts';

const isOurs = foreignUrl === undefined;
/** More than any log of a test has events: no checkpoint but the one that ends a catch-up. */
const never = 1_000_000;
const minusOne = 2n ** 64n - 1n;

// A server that was given by its address is taken for one of 24.x.
const forms = isOurs ? endsOfCatchUp : (['last-event'] as const);

describe.each(forms)('a filtered subscription to the whole log (%s)', (endOfCatchUp) => {
  const store = eventStoreUnderTest(endOfCatchUp);
  const endsAtLastEvent = endOfCatchUp === 'last-event';

  /** Its messages in order: a checkpoint as commit and prepare position. */
  function watch(
    stream: string,
    options: { from: Position | typeof START | typeof END; interval: number; window?: number },
  ) {
    const said: string[] = [];
    const subscription = store.client.subscribeToAll({
      fromPosition: options.from,
      filter: streamNameFilter({
        prefixes: [stream],
        checkpointInterval: options.interval,
        ...(options.window !== undefined && { maxSearchWindow: options.window }),
        checkpointReached: async (_subscription, { commit, prepare }) => void said.push(`${commit}/${prepare}`),
      }),
    });
    return listenTo(subscription, said);
  }

  const positionsOf = async (stream: string): Promise<bigint[]> =>
    (await collect(store.client.readStream(stream))).map(({ event }) => event!.position!.commit);

  const append = (stream: string, count: number, name = 'other') =>
    store.client.appendToStream(
      stream,
      Array.from({ length: count }, () => testEvent(name)),
    );

  const atLast = (position: bigint) => (endsAtLastEvent ? `${position}/${position}` : `${position + 1n}/0`);

  test.runIf(isOurs)('of a fresh log hears nothing more after a checkpoint of -1', async () => {
    const watched = watch(freshStream(), { from: START, interval: 1 });
    await watched.until('caughtUp');
    const stream = freshStream();
    await append(stream, 40);
    const live = watch(freshStream(), { from: END, interval: 1 });
    await live.until('caughtUp');
    await append(stream, 40);
    await waitFor(() => live.said.length === 3, { what: 'a checkpoint of another subscription' });
    const [ended, ...more] = watched.said.slice(1).filter((word) => word !== 'caughtUp');
    expect(ended).toBe(endsAtLastEvent ? `${minusOne}/${minusOne}` : '1/0');
    expect(more).toHaveLength(endsAtLastEvent ? 0 : 2);
  });

  test('from the start that has met nothing hears of a checkpoint of -1 before it has caught up', async () => {
    await append(freshStream(), 3);
    const watched = watch(freshStream(), { from: START, interval: never });
    const [confirmation, checkpoint, ...more] = await watched.until('caughtUp');
    expect([confirmation, ...more]).toEqual(['confirmation', 'caughtUp']);
    if (endsAtLastEvent) expect(checkpoint).toBe(`${minusOne}/${minusOne}`);
    else expect(checkpoint).toMatch(/^\d+\/0$/);
  });

  test('from the start ends its catch-up with a checkpoint at the last event that matched', async () => {
    const stream = await streamOf(store, 3);
    const [, , last] = await positionsOf(stream);
    const watched = watch(stream, { from: START, interval: never });
    expect(await watched.until('caughtUp')).toEqual([
      ...['confirmation', 'type-0', 'type-1', 'type-2', atLast(last!), 'caughtUp'],
    ]);
  });

  test('from a position behind which nothing matches ends its catch-up there', async () => {
    const stream = await streamOf(store, 3);
    const [first, , last] = await positionsOf(stream);
    const from = { commit: first!, prepare: first! };
    const watched = watch(freshStream(), { from, interval: never });
    const checkpoint = endsAtLastEvent ? `${first}/${first}` : atLast(last!);
    expect(await watched.until('caughtUp')).toEqual(['confirmation', checkpoint, 'caughtUp']);
  });

  test('from the end of the log has caught up without any', async () => {
    const stream = await streamOf(store, 1);
    const [last] = await positionsOf(stream);
    for (const from of [END, { commit: last!, prepare: last! }] as const) {
      const watched = watch(stream, { from, interval: 1 });
      expect(await watched.until('caughtUp')).toEqual(['confirmation', 'caughtUp']);
    }
  });

  test('hears of the position of an event after every interval that is live, and trails the end', async () => {
    const stream = freshStream();
    const watched = watch(stream, { from: END, interval: 1 });
    await watched.until('caughtUp');
    const other = freshStream();
    await append(other, 70);
    await append(stream, 1, 'ours');
    const positions = await positionsOf(other);
    const at = (index: number) => `${positions[index]}/${positions[index]}`;
    expect(await watched.until('type-ours')).toEqual(['confirmation', 'caughtUp', at(31), at(63), 'type-ours']);
  });

  test('hears, while it catches up, of places before an event that is still to come: prepare is below commit', async () => {
    const start = await append(freshStream(), 1);
    const other = freshStream();
    await append(other, 100);
    const positions = await positionsOf(other);
    const watched = watch(freshStream(), { from: start.position!, interval: 2, window: 16 });
    const checkpoints = (await watched.until('caughtUp')).filter((word) => word.includes('/'));
    // Pages of 16, of which the first begins with the event at the position itself.
    const between = endsAtLastEvent ? checkpoints : checkpoints.slice(0, -1);
    expect(between).toEqual([15, 47, 79].map((index) => `${positions[index]}/0`));
  });

  test('begins with the event at its position where prepare is below commit, and behind it where both are the same', async () => {
    const stream = await streamOf(store, 3);
    const [, commit] = await positionsOf(stream);
    const before = watch(stream, { from: { commit: commit!, prepare: 0n }, interval: never });
    const behind = watch(stream, { from: { commit: commit!, prepare: commit! }, interval: never });
    const types = async ({ until }: ReturnType<typeof watch>) =>
      (await until('caughtUp')).filter((word) => word.startsWith('type'));
    expect(await types(before)).toEqual(['type-1', 'type-2']);
    expect(await types(behind)).toEqual(['type-2']);
  });
});
