import { expect, it } from 'vitest';
import { handle } from '../../../src/commands/handler/handle-command.ts';
import { asRecorded } from '../../../src/commands/usage/decide-batch.ts';
import { UsageCache, usageOrigin } from '../../../src/commands/usage/usage-cache.ts';
import { WriterRegistry } from '../../../src/commands/usage/writer-registry.ts';
import { usageStream } from '../../../src/domain/billing-period.ts';
import type { KeyedDownload } from '../../../src/domain/decide-usage.ts';
import { parseUsageEvent } from '../../../src/domain/parse-event.ts';
import type { UsageEvent } from '../../../src/domain/usage-events.ts';
import type { UsageSnapshot } from '../../../src/domain/usage-state.ts';
import type { EventStore } from '../../../src/ports/event-store.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { queueDownload, token } from '../../domain/usage-examples.ts';
import { appendAll, GeneratedAccount } from '../../projections/generated-account.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { logUnderTest } from '../log-under-test.ts';
import { appendingBy } from '../noted-reads.ts';
import { ask, foldUsage, freshCause, midNovember, readUsage, tokensOf, type UsageAccount } from '../usage-account.ts';

const log = logUnderTest();

/** A log in which appends are counted. */
function counting(): { store: EventStore; appends: () => number } {
  let appends = 0;
  const append: EventStore['append'] = (...asked) => {
    appends += 1;
    return log.store.append(...asked);
  };
  return { store: appendingBy(log.store, append), appends: () => appends };
}

/** The writers of one process, and the rows that they no longer believe. */
function writersOn(store: EventStore): { writers: WriterRegistry; contradicted: string[] } {
  const contradicted: string[] = [];
  const rows = {
    contradicted: ({ table, name }: { table: string; name: string }) => contradicted.push(`${table} ${name}`),
  };
  return { writers: new WriterRegistry({ store, now: () => midNovember, newId: newUuid, rows }), contradicted };
}

const streamOf = ({ accountId }: GeneratedAccount) => usageStream(accountId, { start: '2026-11-01T00:00:00.000Z' });

/** An account with one download, whose row in Postgres has three more that the log has lost. */
async function aheadOfLog(): Promise<{ account: UsageAccount; row: UsageSnapshot }> {
  const generated = new GeneratedAccount();
  const stream = streamOf(generated);
  await appendAll(log.store, [...generated.open(), generated.queue(1)]);
  const cache = new UsageCache(await foldUsage(log.store, stream));
  const lost = generated.queue(3);
  for (const event of asRecorded(stream, cache.snapshot.revision + 1, lost.events)) cache.fold(event);
  return {
    account: { accountId: generated.accountId, stream, origin: usageOrigin(stream) },
    row: { ...cache.snapshot, coversUpTo: (await log.store.headPosition()) ?? 0n },
  };
}

it('a row that is ahead of the log decides nothing: the account is folded from its first event, without a hot loop', async () => {
  const { account, row } = await aheadOfLog();
  const { store, appends } = counting();
  const { writers, contradicted } = writersOn(store);
  const first = await ask(writers, account, queueDownload(7), { snapshot: row });
  // One credit of two was left. The row has four downloads, two of them beyond the allowance.
  expect(first).toMatchObject({ outcome: 'accepted', usage: { downloads: 2, overageCents: 0 } });
  expect(appends()).toBe(2);
  expect(contradicted).toEqual([`credits ${account.stream}`]);

  // The row comes with each request, and is not asked again.
  const second = await ask(writers, account, queueDownload(8), { snapshot: row });
  expect(second).toMatchObject({ outcome: 'accepted', usage: { downloads: 3, overageCents: 25 } });
  expect(await ask(writers, account, { kind: 'query' }, { snapshot: row })).toMatchObject({ usage: { downloads: 3 } });
  expect(appends()).toBe(3);
  expect(contradicted).toHaveLength(1);
  expect(tokensOf(await readUsage(log.store, account.stream)).slice(1)).toEqual([token(7), token(8)]);
});

it('a conflict with events that are not shown yet leaves the state as it is', async () => {
  const { account } = await aheadOfLog();
  const asked: string[] = [];
  const append: EventStore['append'] = async (...given) => {
    asked.push(given[0]);
    return asked.length <= 2 ? 'conflict' : log.store.append(...given);
  };
  const { writers, contradicted } = writersOn(appendingBy(log.store, append));
  expect(await ask(writers, account, queueDownload(7))).toMatchObject({ outcome: 'accepted', usage: { downloads: 2 } });
  expect(asked).toHaveLength(3);
  expect(contradicted).toEqual([]);
});

it('a query shows the log, and not a row that the log contradicts', async () => {
  const { account, row } = await aheadOfLog();
  const { writers, contradicted } = writersOn(log.store);
  expect(await ask(writers, account, { kind: 'query' }, { snapshot: row })).toMatchObject({
    outcome: 'accepted',
    usage: { downloads: 1, overageCents: 0 },
  });
  expect(contradicted).toHaveLength(1);
});

it('a row whose events were replaced by others is found by the hash of its last event', async () => {
  const { account, row } = await aheadOfLog();
  const others = writersOn(log.store).writers;
  for (const number of [1, 2, 3, 4]) await ask(others, account, queueDownload(number));
  const { store, appends } = counting();
  const { writers, contradicted } = writersOn(store);
  const answer = await ask(writers, account, queueDownload(9), { snapshot: row });
  expect(answer).toMatchObject({ outcome: 'accepted', usage: { downloads: 6 } });
  expect(appends()).toBe(2);
  expect(contradicted).toHaveLength(1);
  expect(tokensOf(await readUsage(log.store, account.stream))).toHaveLength(6);
});

it('a download that only the rows have is no answer to its idempotency key', async () => {
  const { account, row } = await aheadOfLog();
  const { writers } = writersOn(log.store);
  const idempotency = { keyHash: 'a'.repeat(64), fingerprint: 'b'.repeat(64) };
  const command = { ...queueDownload(11), idempotency } as ReturnType<typeof queueDownload>;
  const keyed: KeyedDownload = {
    token: token(10),
    overage: true,
    fingerprint: idempotency.fingerprint,
    stream: row.stream,
    revision: row.revision,
    confirmed: false,
    voided: false,
  };
  await ask(writers, account, { kind: 'query' }, { snapshot: row });
  const answer = await ask(writers, account, command, { snapshot: row, keyed });
  expect(answer).toMatchObject({ outcome: 'accepted', events: [{}, { data: { token: token(11) } }] });
});

it('an account that the log does not have at all is answered, after one append', async () => {
  const generated = new GeneratedAccount();
  const stream = streamOf(generated);
  const [, opened] = generated.open();
  const cache = new UsageCache(usageOrigin(stream));
  for (const event of asRecorded(stream, 0, opened?.events ?? [])) cache.fold(event);
  const account = { accountId: generated.accountId, stream, origin: cache.snapshot };
  const { store, appends } = counting();
  const answer = await ask(writersOn(store).writers, account, queueDownload(1));
  expect(answer).toEqual({ outcome: 'not_stored' });
  expect(appends()).toBe(1);
  expect(await log.store.read(stream, 0)).toEqual([]);
});

it('a command whose known state is ahead of its stream folds the stream, without a hot loop', async () => {
  const { account, row } = await aheadOfLog();
  const { store, appends } = counting();
  const warning: UsageEvent = {
    type: 'UsageWarningReached',
    data: { pool: 'downloads', threshold_percent: 80, used: 4, limit: 5 },
  };
  const handled = await handle(
    store,
    {
      stream: account.stream,
      initial: () => 0,
      parse: parseUsageEvent,
      evolve: (seen: number) => seen + 1,
      known: { ...row, state: 9 },
      presumedCurrent: true,
    },
    { decide: () => [warning], cause: freshCause(), now: () => midNovember, timeoutMs: patienceMs },
  );
  expect(handled).toMatchObject({ state: 4, revision: 3 });
  expect(appends()).toBe(2);
  expect(await readUsage(log.store, account.stream)).toHaveLength(4);
});
