import type { PoolClient } from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { tablesOf } from '../../projections/runner/projection.ts';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import type { ReadModelQueries } from '../../src/audit/compare/comparison.ts';
import type { Scope } from '../../src/audit/compare/rows.ts';
import { NotVerifiable, Verifier } from '../../src/audit/compare/verifier.ts';
import type { Divergence } from '../../src/audit/rules/divergence.ts';
import { type Rule, rules } from '../../src/audit/rules/rules.ts';
import { createReadModels, readModelsOfFile } from '../projections/read-models-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { auditedAt, firstOpenedAt, writeAuditedHistory } from './audited-history.ts';
import { forge, inCopyOf, project, withLog } from './copied-log.ts';
import { keyActs } from './forged-keys.ts';
import { ForgedLog } from './forged-log.ts';
import { writeOlderInvoices } from './older-invoices.ts';
import { Random } from './random.ts';
import { RichHistory } from './rich-history.ts';
import { anywhere } from './tampers-anywhere.ts';
import { ofAccounts } from './tampers-of-accounts.ts';
import { type EventTamper, ofEvents } from './tampers-of-events.ts';
import { comparedColumns, ofRows, withoutConstraints } from './tampers-of-rows.ts';
import { ofOnePerson, ofStaff } from './tampers-of-staff.ts';
import { ofStreams, onlyByCheckpoint } from './tampers-of-streams.ts';

/**
 * A log with everything there is, its read models, and somebody who changes one thing: in a copy of the log's file, or in
 * Postgres. Whatever it is, the audit must name it; and where nothing was changed, it must say so.
 */
const accounts = scaled(3, 8);
/** The number of kinds of each sort in this run, or more if they break more rules: all of them in the long form. */
const kinds = scaled(6, 1_000);
const seed = Number(process.env['PROOF_SEED'] ?? 20_261_121);

const random = new Random(seed);
const original = temporaryDirectoryOfFile();
const inCopy = <Result>(work: (directory: string) => Promise<Result>) => inCopyOf(original, work);
const models = readModelsOfFile();

/** The verdict of the audit on a log. */
function verify(
  directory: string,
  scope: Scope = {},
  queries: ReadModelQueries = createReadModelQueries(models.pool),
  at = auditedAt,
): Promise<Divergence[]> {
  return withLog(directory, async (log) => {
    const verifier = new Verifier({ log, queries, scope, readModelTimeoutMs: 0, now: () => at });
    // Where events were put between others, the log ends behind what the read models stand for.
    await verifier.catchUp().catch((error: unknown) => {
      if (!(error instanceof NotVerifiable) || verifier.divergences.counts.new === 0) throw error;
    });
    return verifier.divergences.list().flatMap(({ divergences }) => divergences);
  });
}

/** Adds an account to a log: a few may not have lived through what a lie or an invoice needs. */
const join = (directory: string) =>
  withLog(directory, (store) => new RichHistory(store, random, firstOpenedAt).live(2, 40));

/** Lies for which the log has no event. */
function impossibleLies(directory: string): string[] {
  const lies = [...ofEvents, ...ofAccounts, ...ofStaff, ...ofOnePerson];
  const isImpossible = ({ database }: ForgedLog, { tamper }: EventTamper) => {
    database.exec('begin');
    const told = tamper(new ForgedLog(database), random);
    database.exec('rollback');
    return !told;
  };
  return forge(directory, (log) => lies.filter((lie) => isImpossible(log, lie)).map(({ kind }) => kind));
}

beforeAll(async () => {
  await withLog(original, (store) => writeAuditedHistory(store, random, { accounts }));
  let impossible = impossibleLies(original);
  for (let joined = 0; joined < accounts && impossible.length > 0; joined += 1) {
    await join(original);
    impossible = impossibleLies(original);
  }
  expect(impossible).toEqual([]);
  await withLog(original, (store) => project(store, models));
});

it('passes a log that nobody has touched', async () => {
  expect(await verify(original)).toEqual([]);
});

it('agrees on each account and on each of its billing periods by itself', async () => {
  const { rows } = await models.pool.query<{ account_id: string; period: string }>(
    `select account_id, right(stream, 8) as period from credits order by random() limit ${String(scaled(3, 6))}`,
  );
  expect(new Set(rows.map(({ period }) => period)).size).toBeGreaterThan(1);
  for (const { account_id: accountId, period } of rows) {
    expect(await verify(original, { accountId })).toEqual([]);
    expect(await verify(original, { accountId, period })).toEqual([]);
    expect(await verify(original, { period })).toEqual([]);
  }
  await expect(verify(original, { period: '19991231' })).rejects.toThrow('no billing period starts on 19991231');
});

it('passes over the streams of others', async () => {
  await inCopy(async (copy) => {
    await withLog(copy, async (store) => {
      const event = { id: random.uuid(), type: 'SomethingOfOthers', data: { of: 'others' }, metadata: {} };
      for (const stream of ['account-1', 'usage-acl-1', 'job-1', 'invoices-2026'])
        expect(await store.append(stream, 'no_stream', [event])).toBe('stored');
    });
    expect(await verify(copy)).toEqual([]);
  });
});

it('agrees on invoices from before, which have a line for each waiver', async () => {
  await inCopy(async (copy) => {
    while (forge(copy, writeOlderInvoices) === 0) await join(copy);
    await using older = await createReadModels();
    await withLog(copy, (store) => project(store, older));
    expect(await verify(copy, {}, createReadModelQueries(older.pool))).toEqual([]);
  });
});

it('names what nobody has done by now: periods that are over and not ended, ended and not closed', async () => {
  const found = await verify(original, {}, undefined, '2024-05-20T00:00:00.000Z');
  // The newest period of each account, and the one before it.
  const named = found.map(({ rule, stream }) => `${rule} ${stream.slice(-8)}`).sort();
  const { rows } = await models.pool.query<{ name: string }>(
    `select case phase when 'open' then 'period_not_ended ' else 'period_not_closed ' end || right(stream, 8) as name
     from credits where phase <> 'closed' order by name`,
  );
  expect(rows.length).toBeGreaterThanOrEqual(2 * accounts);
  expect(named).toEqual(rows.map(({ name }) => name));
});

it('has at least 120 kinds of lies, each for rules that there are', () => {
  const all = [
    ...anywhere.map((_, index) => `anywhere ${String(index)}`),
    ...ofEvents,
    ...ofAccounts,
    ...ofStaff,
    ...ofOnePerson,
    ...ofStreams,
    ...ofRows,
  ];
  const names = all.map((each) => (typeof each === 'string' ? each : each.kind));
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(120);
  const named = [...ofEvents, ...ofAccounts, ...ofStaff, ...ofOnePerson, ...ofStreams, ...ofRows].flatMap((each) => [
    ...each.rules,
  ]);
  expect(named.filter((rule) => !(rule in rules))).toEqual([]);
});

/** So many of them by the seed, and at least one for each rule that they break. */
function some<Kind extends object>(all: readonly Kind[], least = kinds): Kind[] {
  const shuffled = random.shuffled(all);
  const ruleOf = (kind: Kind) => ('rules' in kind ? (kind.rules as readonly Rule[])[0] : undefined);
  const oneForEachRule = [...new Map(shuffled.map((kind) => [ruleOf(kind), kind])).values()];
  return [...new Set([...oneForEachRule, ...shuffled])].slice(0, Math.max(least, oneForEachRule.length));
}

interface Told {
  kind: string;
  rules: readonly Rule[];
  found: Divergence[];
}

/** Lies of which no rule that they break was named. */
const missed = (told: readonly Told[]) =>
  told
    .filter(({ rules: wanted, found }) => !found.some(({ rule }) => wanted.length === 0 || wanted.includes(rule)))
    .map(({ found, ...lie }) => ({ ...lie, found: found.map(({ rule, field }) => `${rule} ${field}`) }));

it('names every lie that somebody tells in the log', async () => {
  const told: Told[] = [];
  for (const tamper of some(anywhere)) {
    await inCopy(async (copy) => {
      let kind = forge(copy, (log) => tamper(log, random));
      while (!kind) kind = forge(copy, (log) => tamper(log, random));
      told.push({ kind, rules: [], found: await verify(copy) });
    });
  }
  expect(missed(told)).toEqual([]);
});

it.each([
  ['keeps the chain right', ofEvents],
  ['is about the life of an account or the limit of a key', ofAccounts],
  ['is about staff and what they give back', ofStaff],
  ['makes one person of two members of staff', ofOnePerson],
])('names every lie that %s, by the rule that it breaks', async (_, lies) => {
  const told: Told[] = [];
  for (const { kind, rules: wanted, tamper } of some(lies)) {
    await inCopy(async (copy) => {
      if (!forge(copy, (log) => tamper(log, random))) throw new Error(`the history has no event for ${kind}`);
      told.push({ kind, rules: wanted, found: await verify(copy) });
    });
  }
  expect(missed(told)).toEqual([]);
});

it.each(keyActs)('judges what a key does %s, with the whole log and with its account alone', async (_, act, wanted) => {
  await inCopy(async (copy) => {
    const accountId = forge(copy, act);
    for (const scope of [{}, { accountId }]) {
      const found = (await verify(copy, scope)).map(({ rule }) => rule);
      expect(found.filter((rule) => rule.startsWith('actor_key'))).toEqual(wanted);
    }
  });
});

it('names streams that are hidden, cut or gone', async () => {
  const told: Told[] = [];
  for (const { kind, rules: wanted, tamper } of some(ofStreams, scaled(4, 1_000))) {
    await inCopy(async (copy) => {
      const where = forge(copy, (log) => random.pick(log.rows.filter(({ name }) => name.startsWith('usage-')))).name;
      await withLog(copy, (_store, url) => tamper(url, where));
      told.push({ kind, rules: wanted, found: await verify(copy) });
      const accountId = where.split('-')[1];
      told.push({ kind: `${kind}, of its account`, rules: wanted, found: await verify(copy, { accountId }) });
    });
  }
  expect(missed(told)).toEqual([]);
});

it('compares every column of every read model, but for what only this installation knows', async () => {
  const { rows } = await models.pool.query<{ name: string }>(
    `select attrelid::regclass || '.' || attname as name from pg_attribute
     where attrelid = any($1::text[]::regclass[]) and attnum > 0 and not attisdropped`,
    [projections.flatMap(tablesOf)],
  );
  const isCompared = (name: string) => comparedColumns.includes(name);
  expect(
    rows
      .map(({ name }) => name)
      .filter((name) => !isCompared(name))
      .sort(),
  ).toEqual([
    // The requests of the last hour.
    ...['api_key_window.admitted_ms', 'api_key_window.base', 'api_key_window.mac'],
    ...['api_keys.label', 'credits.mac'],
    // Made with the secret, which the audit does not have.
    ...['customers.customer', 'customers.words', 'idempotency_keys.mac'],
    ...['people.domain_mac', 'people.email_mac', 'staff.mac', 'staff_addresses.email_mac', 'staff_tokens.mac'],
  ]);
});

it('names every lie that somebody tells in Postgres', async () => {
  const told: Told[] = [];
  const client = await models.pool.connect();
  try {
    for (const { kind, rules: wanted, table, sql } of some(ofRows)) {
      await client.query('begin');
      await client.query(withoutConstraints(table));
      const { rowCount } = await client.query(sql).catch((error: unknown) => {
        throw new Error(`${kind}: ${sql}`, { cause: error });
      });
      if (rowCount === 0) throw new Error(`${kind} changed nothing`);
      const found = await verify(original, {}, within(client));
      await client.query('rollback');
      told.push({ kind, rules: wanted, found: found.filter((each) => isOf(each, table)) });
    }
  } finally {
    await client.query('rollback');
    client.release();
  }
  expect(missed(told)).toEqual([]);
  expect(await verify(original)).toEqual([]);
});

it('accepts rows of jobs from before they had a key and cents, and nothing else of them', async () => {
  const client = await models.pool.connect();
  try {
    await client.query('begin');
    await client.query('update jobs set key_id = null, cents = null, running_cents = null');
    expect(await verify(original, {}, within(client))).toEqual([]);
    await client.query("update jobs set url = url || 'x' where token = (select min(token) from jobs)");
    const found = await verify(original, {}, within(client));
    expect(found.map(({ rule, field }) => `${rule} ${field}`)).toEqual(['row_differs jobs.url']);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

const isOf = ({ field }: Divergence, table: string) => field === table || field.startsWith(`${table}.`);

/** Sees what its transaction has changed. */
function within(client: PoolClient): ReadModelQueries {
  const query: ReadModelQueries['query'] = async (sql, values) => {
    await client.query('savepoint question');
    try {
      return (await client.query<Record<string, unknown>>(sql, values)).rows;
    } catch (error) {
      await client.query('rollback to savepoint question');
      throw error;
    }
  };
  return { query, snapshot: (_tables, work) => work(query) };
}

it('says nothing of what only a checkpoint in other hands could find', async () => {
  for (const { kind, tamper } of some(onlyByCheckpoint, scaled(1, 1_000))) {
    await inCopy(async (copy) => {
      forge(copy, (log) => tamper(log, random));
      await using forged = await createReadModels();
      await withLog(copy, (store) => project(store, forged));
      expect(await verify(copy, {}, createReadModelQueries(forged.pool)), kind).toEqual([]);
    });
  }
});
