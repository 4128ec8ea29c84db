import { describe, expect, onTestFinished, test } from 'vitest';
import type { AppendOutcome } from '../../../src/ports/event-store.ts';
import { portOf, startEventStore } from '../../support/event-store.ts';
import { eventToAppend, numberOf, openAdapter, upTo } from '../../support/event-store-adapter.ts';
import { foreignUrl, freshStream } from '../../support/event-store-under-test.ts';
import { scaled } from '../../support/proof-scale.ts';
import { sum } from '../../support/sum.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const isOurs = foreignUrl === undefined;
if (!isOurs) console.log('The server at EVENTSTORE_URL is not ours to kill: its end is not tested.');

const WRITERS = 24;

describe.runIf(isOurs)('a server that is killed with appends in flight', () => {
  test('has everything it acknowledged, everything once, and no gaps', async () => {
    const dataDirectory = temporaryDirectory();
    let server = await startEventStore({ dataDirectory });
    onTestFinished(() => server.stop());
    const port = portOf(server.url);
    const store = openAdapter({ url: server.url });
    const writers = Array.from({ length: WRITERS }, () => ({
      stream: freshStream('writer'),
      acknowledged: -1,
      verified: -1,
    }));
    const outcomes = new Set<AppendOutcome>();
    let isOver = false;
    const writing = writers.map(async (writer) => {
      while (!isOver) {
        const next = writer.acknowledged + 1;
        const expected = next === 0 ? 'no_stream' : next - 1;
        outcomes.add(await store.append(writer.stream, expected, [eventToAppend(next), eventToAppend(next + 1)]));
        writer.acknowledged = next + 1;
      }
    });
    const total = (): number => sum(writers.map((writer) => writer.acknowledged + 1));
    for (let round = 0; round < scaled(4, 40); round += 1) {
      const before = total();
      await waitFor(() => total() > before + 100, { what: `appends in round ${round}` });
      await server.kill();
      // Read from the file as the crash left it, by another server: what was acknowledged is there already.
      const acknowledged = writers.map((writer) => writer.acknowledged);
      server = await startEventStore({ dataDirectory, port });
      const stored = await Promise.all(writers.map((writer) => store.read(writer.stream, writer.verified + 1)));
      for (const [index, writer] of writers.entries()) {
        const first = writer.verified + 1;
        const events = stored[index]!;
        writer.verified += events.length;
        expect(writer.verified).toBeGreaterThanOrEqual(acknowledged[index]!);
        const expected = events.map((_, offset) => first + offset);
        expect(events.map(numberOf)).toEqual(expected);
        expect(events.map(({ revision }) => revision)).toEqual(expected);
      }
    }
    isOver = true;
    await Promise.all(writing);
    expect(outcomes).toEqual(new Set(['stored']));
    for (const writer of writers) {
      expect((await store.read(writer.stream, 0)).map(numberOf)).toEqual(upTo(writer.acknowledged));
    }
  });
});
