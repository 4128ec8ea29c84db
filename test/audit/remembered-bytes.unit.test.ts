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
    for (const { forget } of [...rows.early.values(), ...rows.late.values()]) forget?.();
    rows.early.clear();
    rows.late.clear();
  };
  return { divergences, follow };
}

type Audit = ReturnType<typeof audit>;

const heapBytes = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** The account of the test remembers some 90 bytes of each itself. */
const queue = ({ follow }: Audit, account: GeneratedAccount) => follow([account.queue(100)]);

/** docs/performance.md says what the audit remembers of each. */
it.each([
  {
    what: 'an account with a key and an invoice',
    most: 7_000,
    each: 1,
    first: 1,
    times: 999,
    write: async ({ follow }: Audit) => {
      const account = new GeneratedAccount();
      await follow([...account.open(), account.issueKey().append, account.invoice()]);
    },
  },
  { what: 'a download that waits', most: 1_100, each: 100, first: 1, times: 50, write: queue },
  { what: 'one more that waits behind ten thousand', most: 650, each: 100, first: 101, times: 50, write: queue },
  {
    what: 'a download that is over, in an open period',
    most: 400,
    each: 100,
    first: 1,
    times: 30,
    write: async ({ follow }: Audit, account: GeneratedAccount) =>
      follow([account.queue(100), ...account.work({ areOver: true })]),
  },
])('remembers at most $most bytes of $what', async ({ most, each, first, times, write }) => {
  const audited = audit();
  const account = new GeneratedAccount();
  await audited.follow(account.open());
  const repeat = async (count: number) => {
    for (let time = 0; time < count; time += 1) await write(audited, account);
  };
  await repeat(first);
  const before = heapBytes();
  await repeat(times);
  const bytes = (heapBytes() - before) / times / each;
  expect(audited.divergences.counts.new).toBe(0);
  expect(bytes).toBeLessThan(most);
  expect(bytes).toBeGreaterThan(0.75 * most);
});
