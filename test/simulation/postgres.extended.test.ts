import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { apiKeys } from '../../projections/api-keys.ts';
import * as corrections from '../../projections/corrections.ts';
import * as credits from '../../projections/credits.ts';
import * as documentMails from '../../projections/document-mails.ts';
import { readKeyedDownload } from '../../projections/idempotency-keys.ts';
import { readJob } from '../../projections/jobs.ts';
import { applyBatch, type RunningProjection } from '../../projections/runner/apply-batch.ts';
import { checkpointAfter, openCheckpoint, writeCheckpoint } from '../../projections/runner/checkpoints.ts';
import { resume } from '../../projections/runner/resume.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import * as usageWarnings from '../../projections/usage-warnings.ts';
import * as duePeriods from '../../projections/work-lists/due-periods.ts';
import * as jobsInTurn from '../../projections/work-lists/jobs-in-turn.ts';
import * as keptFiles from '../../projections/work-lists/kept-files.ts';
import * as mailClaims from '../../projections/work-lists/mail-claims.ts';
import * as closingGate from '../../projections/work-lists/pending-void-gate.ts';
import * as serviceFailures from '../../projections/work-lists/service-failures.ts';
import * as unfinishedJobs from '../../projections/work-lists/unfinished-jobs.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { Turn } from '../../src/ports/job-turns.ts';
import { positionOfEvent } from '../../src/ports/log-position.ts';
import { createReadModels, testMacs, type TestReadModels } from '../projections/read-models-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import type { StoredEvent } from './event-log.ts';
import { perfectNetwork } from './perfect-network.ts';
import { Postgres } from './postgres.ts';
import { Random } from './random.ts';
import { ReadModels } from './read-models.ts';
import * as replaced from './replaced-queries.ts';
import { Runner } from './run.ts';
import { admit, polledJobOf } from './service.ts';

/** The Postgres of the simulation, after the same events, says what the real one says. */

const real = {
  ...credits,
  ...closingGate,
  ...duePeriods,
  ...serviceFailures,
  ...unfinishedJobs,
  ...jobsInTurn,
  ...corrections,
  ...usageWarnings,
  ...documentMails,
  ...mailClaims,
  ...keptFiles,
  writeCheckpoint,
  resume,
};
type Queries = Pick<typeof real, keyof typeof real & keyof typeof replaced>;

const firstSeed = Number(process.env['PROOF_SEED'] ?? 1);
const looksAtEach = 3;

/** The real Postgres and the simulated one, at the same event of the same log. */
class BothPostgres {
  readonly simulated = new Postgres(new ReadModels(), perfectNetwork);
  readonly log: readonly StoredEvent[];
  readonly random: Random;
  readonly models: TestReadModels;
  readonly #projections: RunningProjection[];
  readonly #admissions: ReturnType<TestReadModels['openAdmissions']>;
  #applied = 0;

  constructor(models: TestReadModels, log: readonly StoredEvent[], random: Random) {
    this.models = models;
    this.log = log;
    this.random = random;
    this.#admissions = models.openAdmissions();
    this.#projections = [usageAndJobs, apiKeys, corrections.corrections, documentMails.documentMails].map(
      (projection) => ({
        projection,
        apply: projection.start({ store: this.store, macs: testMacs }),
        checkpoint: undefined,
        position: undefined,
      }),
    );
  }

  get store(): EventStore {
    const store: Pick<EventStore, 'read' | 'headPosition'> = {
      read: (stream, from, count = Infinity) =>
        Promise.resolve(this.log.filter((event) => event.stream === stream).slice(from, from + count)),
      headPosition: () => Promise.resolve(this.log.at(-1)?.position),
    };
    return store as EventStore;
  }

  get applied(): readonly StoredEvent[] {
    return this.log.slice(0, this.#applied);
  }

  /** Applies the next events, in batches that may end between the events of one append. */
  async applyUpTo(count: number): Promise<void> {
    if (this.#applied === 0)
      for (const { projection } of this.#projections) await openCheckpoint(this.models.pool, projection.name);
    while (this.#applied < count) {
      const events = this.log.slice(this.#applied, Math.min(count, this.#applied + this.random.between(1, 40)));
      const position = positionOfEvent(events.at(-1)!.position);
      await applyBatch(this.models.pool, this.#projections, { events, position });
      for (const event of events) this.simulated.readModels.apply(event);
      this.#applied += events.length;
    }
  }

  /** @returns the answer of the real one, and that of the simulated one */
  async ask<Answer>(question: (queries: Queries, pool: Pool) => Promise<Answer>): Promise<[Answer, Answer]> {
    const simulatedPool = this.simulated as unknown as Pool;
    return [await question(real, this.models.pool), await question(replaced, simulatedPool)];
  }

  async expectSame(question: (queries: Queries, pool: Pool) => Promise<unknown>): Promise<void> {
    const [ofReal, ofSimulated] = await this.ask(question);
    expect(ofSimulated, String(question)).toEqual(ofReal);
  }

  admissions(keyHash: string, what: { token: string | undefined; idempotencyKeyHash: string | undefined }) {
    const { simulated: postgres } = this;
    const accountsByKey = new Map(this.keys().map((key) => [key.keyHash, key]));
    const asked = { keyHash, ...what } as Parameters<typeof admit>[1];
    return Promise.all([
      this.#admissions.admit({ ...asked, takesNoPlace: true }),
      admit({ postgres, accountsByKey }, asked),
    ]);
  }

  keys(): { accountId: string; keyId: string; keyHash: string }[] {
    const issued = this.applied.filter(({ type }) => type === 'ApiKeyIssued');
    return issued.map(({ data }) => {
      const { account_id, key_id, key_hash } = data as Record<'account_id' | 'key_id' | 'key_hash', string>;
      return { accountId: account_id, keyId: key_id, keyHash: key_hash };
    });
  }

  /** Instants at which an answer may change, and some others. */
  instant(): string {
    const { random } = this;
    const times = this.applied.map(({ metadata }) => (metadata as { $time?: string; time: string }).time);
    const ends = [...this.simulated.readModels.credits.values()].map(({ snapshot: { usage } }) =>
      usage.phase === 'absent' ? '' : usage.period.end,
    );
    const near = random.pick(random.chance(0.5) && ends.length > 0 ? ends : times)!;
    return new Date(Date.parse(near) + random.pick([-1, 0, 0, 1, 500, 60_000, 3_600_000])).toISOString();
  }

  some<Item>(items: Iterable<Item>): Item[] {
    const share = this.random.pick([0, 0, 0.3, 1]);
    return [...items].filter(() => this.random.chance(share));
  }
}

async function compareRows(both: BothPostgres): Promise<void> {
  const { models, simulated } = both;
  const { readModels } = simulated;
  const accounts = new Set<string>();
  for (const [stream, { accountId, snapshot }] of readModels.credits) {
    expect(await credits.readCredits(models.pool, stream, testMacs)).toEqual(snapshot);
    accounts.add(accountId);
  }
  for (const accountId of accounts)
    await both.expectSame(({ readNewestCredits }, pool) => readNewestCredits(pool, accountId, testMacs));
  const { rows } = await models.pool.query<{ rows: number }>(
    `select (select count(*) from credits)::int + (select count(*) from jobs)::int + (select count(*) from idempotency_keys)::int as rows`,
  );
  expect(readModels.credits.size + readModels.jobs.size + readModels.keyed.size).toBe(rows[0]?.rows);
  for (const [token, row] of readModels.jobs) {
    const { queued, job, revision, waitingSince } = row;
    // These two are computed for each poll.
    const { credits: _credits, given_back_cents: _cents, ...columns } = polledJobOf(row);
    expect(await readJob(models.pool, token)).toMatchObject({
      ...columns,
      usage_stream: queued.stream,
      usage_revision: queued.revision,
      revision,
      waiting_since: waitingSince,
      attempts: job.attempts,
      not_before: job.notBefore,
      worker_id: job.claim?.workerId ?? null,
      claim_revision: job.claim?.revision ?? null,
      ...(job.claim && { claimed_at: job.claim.claimedAt }),
    });
  }
  for (const name of readModels.keyed.keys()) {
    const [accountId = '', keyHash = ''] = name.split(' ');
    const read = await readKeyedDownload(models.pool, { accountId, keyHash, macs: testMacs });
    expect(readModels.keyedOf(accountId, keyHash)).toEqual(read);
  }
}

/** What a request of the API gets from its one statement; its hourly window is not simulated. */
async function compareAdmissions(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const { jobs, keyed } = simulated.readModels;
  for (const { keyHash, accountId } of both.keys()) {
    const ownKeys = [...keyed.keys()].filter((name) => name.startsWith(`${accountId} `));
    const idempotencyKeyHash = random.chance(0.3) ? undefined : random.pick(ownKeys)?.split(' ')[1];
    const token = random.chance(0.3) ? undefined : random.pick([...jobs.keys()]);
    const [ofReal, ofSimulated] = await both.admissions(keyHash, { token, idempotencyKeyHash });
    // Nobody is admitted with a revoked key.
    expect(ofSimulated !== undefined).toBe(ofReal !== undefined);
    const { window: _window, place: _place, ...expected } = { ...ofReal };
    expect({ ...ofSimulated }).toMatchObject(expected);
  }
  expect(await both.admissions('0'.repeat(64), { token: undefined, idempotencyKeyHash: undefined })).toEqual([
    undefined,
    undefined,
  ]);
}

async function compareCalendar(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const now = both.instant();
  const wanted = { except: both.some(simulated.readModels.credits.keys()), limit: random.pick([1, 2, 100]) };
  await both.expectSame((queries, pool) => queries.listPeriodsToRollOver(pool, { now, ...wanted }));
  await both.expectSame((queries, pool) => queries.listPeriodsToClose(pool, { endedBefore: now, ...wanted }));
  await both.expectSame((queries, pool) => queries.listInvoicesDue(pool, wanted));
}

/** Which of several jobs of the same instant comes first is not said. */
async function compareJobs(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const { jobs } = simulated.readModels;
  const now = both.instant();
  const wanted = { now, waitedSeconds: random.pick([0, 1, 30]), maxJobsPerAccount: random.between(1, 3) };
  const byToken = (one: { token: string }, other: { token: string }) => (one.token < other.token ? -1 : 1);
  await both.expectSame(async (queries, pool) =>
    (await queries.listWaitingJobs(pool, { ...wanted, limit: 1_000 })).sort(byToken),
  );
  const limit = random.between(1, 3);
  await both.expectSame(async (queries, pool) =>
    (await queries.listWaitingJobs(pool, { ...wanted, limit })).map(({ waiting_seconds: seconds }) => seconds),
  );
  const silences = new Map<string, number>();
  for (const { job } of jobs.values())
    if (job.claim && random.chance(0.5)) silences.set(job.claim.workerId, 100 * random.between(1, 9));
  await both.models.pool.query('delete from worker_heartbeats');
  simulated.heartbeats.clear();
  for (const [workerId, seconds] of silences) {
    await both.models.pool.query(
      `insert into worker_heartbeats (worker_id, about, beaten_at) values ($1, '{}', clock_timestamp() - $2 * interval '1 second')`,
      [workerId, seconds],
    );
    simulated.heartbeats.set(workerId, performance.now() - seconds * 1_000);
  }
  await both.expectSame(async (queries, pool) => {
    const claimed = (await queries.listClaimedJobs(pool, now)).sort(byToken);
    // Between the two answers a little time passes.
    return claimed.map((each) => ({
      ...each,
      quiet_seconds: each.quiet_seconds && Math.floor(each.quiet_seconds / 50),
    }));
  });
  await compareTurns(both, now);
}

async function compareTurns(both: BothPostgres, now: string): Promise<void> {
  const { random, simulated } = both;
  const { jobs, credits: rows } = simulated.readModels;
  const accountIds = [...new Set([...rows.values()].map(({ accountId }) => accountId))];
  const named = random.pick([...jobs.values()]);
  const wanted = {
    now,
    workerId: random.pick([...jobs.values()])?.job.claim?.workerId ?? 'wrk_0000000000000000',
    after: random.pick(['', 'acc_zzzzzzzzzzzzzzzz', ...accountIds]),
    maxJobsPerAccount: random.between(1, 3),
    own: Object.fromEntries(both.some(accountIds).map((accountId) => [accountId, random.between(1, 2)])),
    fullPlatforms: random.chance(0.1) ? ['youtube'] : [],
    settled: both.some(jobs.values()).map(({ queued, revision }) => `${queued.token}:${String(revision)}`),
    named: random.chance(0.3)
      ? undefined
      : {
          token: random.chance(0.1) ? 'unknown' : (named?.queued.token ?? 'unknown'),
          accountId: named?.accountId ?? '',
        },
  };
  const instantOf = (text: string | null) => (text === null ? null : new Date(text).toISOString());
  const comparable = ({ next, accounts, named: about }: Turn) => ({
    next: next && { ...next, ...oldestOf(jobs.get(next.token)!.waitingSince) },
    accounts,
    named: about && { ...about, row: about.row && { ...about.row, not_before: instantOf(about.row.not_before) } },
  });
  await both.expectSame(async (queries, pool) => comparable(await queries.readTurn(pool, wanted)));
}

const oldestOf = (waitingSince: string) => ({
  waitingSince,
  token: undefined,
  usage_stream: undefined,
  usage_revision: undefined,
  revision: undefined,
});

async function compareMails(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const ids = (rows: { mail_id: string }[]) => rows.map(({ mail_id }) => mail_id);
  const warnings = ids(simulated.readModels.waitingWarnings());
  const documents = ids(simulated.readModels.waitingDocumentMails());
  const limit = random.pick([1, 2, 100]);
  const exceptWarnings = both.some(warnings);
  await both.expectSame((queries, pool) => queries.listWaitingWarnings(pool, { except: exceptWarnings, limit }));
  const exceptDocuments = both.some(documents);
  await both.expectSame((queries, pool) => queries.listWaitingDocumentMails(pool, { except: exceptDocuments, limit }));
  for (let times = 0; times < 8; times += 1) {
    const mailId = random.pick([...warnings, ...documents].slice(0, 2)) ?? 'unknown';
    const claim = { by: random.pick(['one', 'other']), staleSeconds: random.pick([-1, 1_000, 1_000]) };
    await both.expectSame((queries, pool) => queries.claimMail(pool, mailId, claim));
    if (random.chance(0.2)) await both.expectSame((queries, pool) => queries.noteTaken(pool, mailId));
    if (random.chance(0.2)) await both.expectSame((queries, pool) => queries.forgetClaim(pool, mailId));
  }
}

async function compareCorrections(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const requests = [...simulated.readModels.corrections.values()].flatMap((of) => [...of.values()]);
  const wanted = {
    status: random.pick(['asked', 'permitted'] as const),
    except: both.some(requests).map(({ correctionId }) => correctionId),
    limit: random.pick([1, 2, 100]),
  };
  await both.expectSame(async (queries, pool) =>
    (await queries.listWaitingCorrections(pool, wanted)).map(({ correction_id, account_id }) => [
      correction_id,
      account_id,
    ]),
  );
}

/** Which of several files of the same instant comes first is not said. */
async function compareFiles(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const { jobs } = simulated.readModels;
  const completedUntil = both.instant();
  const finishedAt = (token: string) => jobs.get(token)?.finishedAt;
  await both.expectSame(async (queries, pool) =>
    (await queries.listFilesToExpire(pool, { completedUntil, limit: 1_000 })).sort(),
  );
  const limit = random.between(1, 3);
  await both.expectSame(async (queries, pool) =>
    (await queries.listFilesToExpire(pool, { completedUntil, limit })).map(finishedAt),
  );
  const tokens = [...both.some(jobs.keys()), 'unknown'];
  await both.expectSame(async (queries, pool) => {
    const ended = await queries.readEndedJobs(pool, tokens);
    return ended.sort((one, other) => (one.token < other.token ? -1 : 1));
  });
}

async function compareLists(both: BothPostgres): Promise<void> {
  const { random, simulated } = both;
  const { jobs, credits: rows } = simulated.readModels;
  const tokens = both.some(jobs.keys());
  await both.expectSame((queries, pool) => queries.noteServiceFailures(pool, tokens));
  const forgotten = random.pick(tokens) ?? 'unknown';
  await both.expectSame((queries, pool) => queries.forgetServiceFailure(pool, forgotten));
  const wanted = { except: both.some(tokens), limit: random.pick([1, 100]) };
  await both.expectSame((queries, pool) => queries.listServiceFailures(pool, wanted));
  const stream = random.pick([...rows.keys()]) ?? 'usage-none';
  await both.expectSame((queries, pool) => queries.beginClosing(pool, stream));
  const events = both.applied.slice(-random.between(1, 5));
  const checkpoint = checkpointAfter(undefined, { events, position: positionOfEvent(events.at(-1)!.position) });
  if (random.chance(0.8))
    await both.expectSame((queries, pool) => queries.writeCheckpoint(pool, 'dispatch', checkpoint));
  await both.expectSame(async (queries, pool) => {
    const { checkpoint: read, position } = await queries.resume({ pool, store: both.store }, 'dispatch');
    return { position, seen: read?.seen?.id };
  });
}

it('after the events of any history both hold the same rows, and answer the same at any instant', async () => {
  const runner = new Runner();
  const seen = { rows: 0, jobs: 0, keyed: 0 };
  for (let seed = firstSeed; seed < firstSeed + scaled(8, 500); seed += 1) {
    const { log = [] } = await runner.run(seed, { keepsLog: true });
    await using models = await createReadModels();
    const both = new BothPostgres(models, log, new Random(seed));
    const places = Array.from({ length: looksAtEach - 1 }, () => both.random.between(1, log.length));
    for (const count of [...places, log.length].sort((one, other) => one - other)) {
      await both.applyUpTo(count);
      try {
        await compareRows(both);
        await compareAdmissions(both);
        for (let times = 0; times < 3; times += 1) {
          await compareCalendar(both);
          await compareFiles(both);
          await compareMails(both);
          await compareCorrections(both);
          await compareJobs(both);
        }
        await compareLists(both);
      } catch (error) {
        throw new Error(`seed ${String(seed)}, after ${String(count)} of ${String(log.length)} events`, {
          cause: error,
        });
      }
    }
    const { credits: rows, jobs, keyed } = both.simulated.readModels;
    seen.rows += rows.size;
    seen.jobs += jobs.size;
    seen.keyed += keyed.size;
  }
  await runner.end();
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
