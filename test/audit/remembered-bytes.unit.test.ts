import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { ExpectedRows } from '../../src/audit/compare/expected-rows.ts';
import { RowsOfEvents } from '../../src/audit/compare/rows-of-events.ts';
import type { RecordedEvent } from '../../src/audit/rules/audited-log.ts';
import { Divergences } from '../../src/audit/rules/divergence.ts';
import { Replay } from '../../src/audit/rules/replay.ts';
import { type Append, GeneratedAccount } from '../projections/generated-account.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The audit while it follows a log: all its rows are compared at once, and found right. */
function audit() {
  const divergences = new Divergences();
  const rows = new ExpectedRows();
  const replay = new Replay(
    async () => [],
    divergences.report,
    (each) => new RowsOfEvents(each, rows),
  );
  let position = 0n;
  const follow = async (appends: readonly Append[]) => {
    for (const { stream, expected, events } of appends) {
      const first = expected === 'no_stream' ? 0 : expected + 1;
      for (const [index, event] of events.entries()) {
        // Parsed anew, as from the wire: its texts belong to it alone.
        const parsed = JSON.parse(JSON.stringify({ ...event, stream })) as RecordedEvent;
        await replay.apply({ ...parsed, revision: first + index, position: (position += 1n) });
      }
    }
    for (const { forget } of rows.early.values()) forget?.();
    rows.early.clear();
    rows.late.clear();
  };
  return { divergences, follow };
}

/** @returns bytes of the heap that stay in use, for each time that something was written */
async function bytesOfEach(times: number, write: () => Promise<unknown>): Promise<number> {
  // What is remembered once for all is not counted.
  await write();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let time = 0; time < times; time += 1) await write();
  collectGarbage();
  return Math.round((process.memoryUsage().heapUsed - before) / times);
}

/** docs/performance.md says what the audit remembers of each. */
it.each([
  {
    what: 'an account with a key and an invoice',
    most: 7_000,
    count: 1,
    write: async ({ follow }: ReturnType<typeof audit>) => {
      const account = new GeneratedAccount();
      await follow([...account.open(), account.issueKey().append, account.invoice()]);
    },
  },
  {
    what: 'a download that waits',
    most: 1_200,
    count: 100,
    write: async ({ follow }: ReturnType<typeof audit>, account: GeneratedAccount) => follow([account.queue(100)]),
  },
  {
    what: 'a download that is over, in an open period',
    most: 350,
    count: 100,
    write: async ({ follow }: ReturnType<typeof audit>, account: GeneratedAccount) =>
      follow([account.queue(100), ...account.work({ areOver: true })]),
  },
])('remembers at most $most bytes of $what', async ({ most, count, write }) => {
  const following = audit();
  const account = new GeneratedAccount();
  await following.follow(account.open());
  const bytes = (await bytesOfEach(1_000 / Math.sqrt(count), () => write(following, account))) / count;
  expect(following.divergences.counts.new).toBe(0);
  expect(bytes).toBeLessThan(most);
});
