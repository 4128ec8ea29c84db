import type { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { columns } from '../../src/audit/compare/columns.ts';
import type { RecordedEvent } from '../../src/audit/rules/audited-log.ts';
import { centsTaken } from '../../src/audit/rules/cents-taken.ts';
import { type Divergence, Divergences } from '../../src/audit/rules/divergence.ts';
import { Replay, type ReplayObserver } from '../../src/audit/rules/replay.ts';
import type { Rule } from '../../src/audit/rules/rules.ts';
import { openDatabase } from '../../src/embedded/event-store/database.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { auditedAt, writeAuditedHistory } from './audited-history.ts';
import { keyActs } from './forged-keys.ts';
import { bytesOf, ForgedLog, type Row, textOf } from './forged-log.ts';
import { Random } from './random.ts';
import { ofAccounts } from './tampers-of-accounts.ts';
import { ofEvents } from './tampers-of-events.ts';
import { ofOnePerson, ofStaff } from './tampers-of-staff.ts';

/**
 * The rules of the audit alone: a history with everything there is, in a file of the embedded log that no server serves, and
 * each lie told in it. `planted-lies.extended.test.ts` has the same lies with the read models, and the lies that only these show.
 */
const seed = 20_261_127;
/** As small as has an event for each lie, because each test reads all of it. */
const accounts = 2;
const actsEach = 15;

const directory = temporaryDirectoryOfFile();
let database: DatabaseSync;

/** Appends to the file as the event store does, without its server. */
function appendTo(log: DatabaseSync): Pick<EventStore, 'append'> {
  const streams = log.prepare('insert into streams (name, last_revision) values (?, -1) on conflict do nothing');
  const insert = log.prepare(
    `insert into events (stream_key, revision, id, type, content_type, data, metadata, created_ms)
     select stream_key, ?, ?, ?, 'application/json', ?, ?, 0 from streams where name = ?`,
  );
  return {
    append: async (stream, expected, events) => {
      streams.run(stream);
      const first = expected === 'no_stream' ? 0 : expected + 1;
      for (const [index, { id, type, data, metadata }] of events.entries())
        insert.run(first + index, id, type, bytesOf(data), bytesOf(metadata), stream);
      return 'stored';
    },
  };
}

const recorded = ({ position, name: stream, revision, id, type, data, metadata }: Row): RecordedEvent => ({
  stream,
  revision,
  id,
  type,
  data: JSON.parse(textOf(data)) as unknown,
  metadata: JSON.parse(textOf(metadata)) as unknown,
  position: BigInt(position),
});

/** Forgets jobs and periods as early as the comparison with Postgres may: later events make the rules read them again. */
const forgetting = (replay: Replay): ReplayObserver => ({
  accountChanged: () => undefined,
  accountHeadMoved: () => undefined,
  usageChanged: ({ type, data, position }) => {
    // Some of those that wait.
    if (type === 'DownloadQueued' && position % 2n === 0n) replay.forgetQueued(data.token);
  },
  periodChanged: (period) => {
    if (period.phase === 'closed' && !replay.completeness.isDue(period)) replay.periods.delete(period.stream);
  },
  jobEventRecorded: () => undefined,
  jobChanged: (job, forget) => {
    if (job.end) forget();
  },
  invoiced: () => undefined,
  documentMailsAsked: () => undefined,
  documentMailed: () => undefined,
});

/**
 * The divergences that the rules find in the log as it is now.
 *
 * @param more told of what the replay does, too
 */
async function audit(
  at = auditedAt,
  more: (replay: Replay) => Partial<ReplayObserver> = () => ({}),
): Promise<Divergence[]> {
  const events = new ForgedLog(database).rows.map(recorded);
  const streams = Map.groupBy(events, ({ stream }) => stream);
  const divergences = new Divergences();
  const read = async (stream: string, from: number, most = Infinity) =>
    (streams.get(stream) ?? []).filter(({ revision }) => revision >= from).slice(0, most);
  const replay = new Replay(read, divergences.report, (each) => ({ ...forgetting(each), ...more(each) }));
  for (const event of events) await replay.apply(event);
  await replay.completeness.check(at, events.at(-1)?.position ?? -1n, () => true);
  return divergences.list().flatMap((account) => account.divergences);
}

/** The divergences that the rules find once the log is changed; afterwards it is as before. */
async function auditAfter(change: (log: ForgedLog) => unknown): Promise<Divergence[]> {
  database.exec('begin');
  try {
    if (change(new ForgedLog(database)) === false) throw new Error('the history has no event for this lie');
    return await audit();
  } finally {
    database.exec('rollback');
  }
}

const rulesOf = (found: readonly Divergence[]): Rule[] => [...new Set(found.map(({ rule }) => rule))];

beforeAll(async () => {
  database = openDatabase(directory);
  await writeAuditedHistory(appendTo(database), new Random(seed), { accounts, actsEach });
});

afterAll(() => database.close());

it('find nothing in a log that nobody has touched', async () => {
  expect(await audit()).toEqual([]);
});

it('find what nobody has done by now: periods that are over and not ended, ended and not closed', async () => {
  const found = (await audit('2024-05-20T00:00:00.000Z')).map(({ rule }) => rule).sort();
  expect(found).toEqual([
    ...Array<Rule>(accounts).fill('period_not_closed'),
    // The other account is closed: its last period ended with that, and was not closed.
    'period_not_closed',
    'period_not_ended',
  ]);
});

it('fold what each billing period has used, and what is due in it', async () => {
  const periods = new Map<string, string>();
  const left = new Map<string, number>();
  await audit(auditedAt, ({ completeness }) => ({
    periodChanged: (period) => {
      const { terms: _, last_hash: __, last_time: ___, ...shown } = columns.credits;
      const row = Object.entries(shown).map(([name, valueOf]) => [name, valueOf({ period, completeness })] as const);
      periods.set(period.stream, JSON.stringify(Object.fromEntries(row)));
      // The ledger has what the period has.
      expect(left.get(period.stream) ?? 0).toBe(period.totals.overage_cents);
    },
    usageChanged: (event, { stream }) => {
      left.set(stream, (left.get(stream) ?? 0) + (centsTaken(event) ?? 0));
    },
  }));
  expect([...periods.values()].join('\n')).toMatchSnapshot();
});

/** Each divergence in a line, without values that are long. */
function toldOf(found: readonly Divergence[]): string {
  const told = found.map(({ rule, stream, revision, field, expected }) => {
    const text = JSON.stringify(expected ?? null);
    return `${rule} ${stream.split('-')[0] ?? ''} ${String(revision)} ${field}: ${text.length < 120 ? text : 'a long value'}`;
  });
  return [...new Set(told)].join('\n');
}

/** Rules of the comparison with the read models. */
const byReadModels: readonly Rule[] = ['row_differs', 'row_surplus', 'idempotency_key'];

describe('find, by the rule that it breaks,', () => {
  const lies = [...ofEvents, ...ofAccounts, ...ofStaff, ...ofOnePerson];
  const told = lies.filter(({ rules }) => !rules.some((rule) => byReadModels.includes(rule)));

  it.each(told)('$kind', async ({ tamper, rules }) => {
    const found = await auditAfter((log) => tamper(log, new Random(seed)));
    const broken = rulesOf(found);
    expect(rules.filter((rule) => broken.includes(rule))).not.toEqual([]);
    // All that is told of the lie: a change here is a change of what people read, or of what the rules see.
    expect(toldOf(found)).toMatchSnapshot();
  });
});

it.each(keyActs)('judge what a key does %s', async (_, act, wanted) => {
  const found = rulesOf(await auditAfter(act));
  expect(found.filter((rule) => rule.startsWith('actor_key'))).toEqual(wanted);
});
