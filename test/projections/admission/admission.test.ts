import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Admission, type Admissions, createAdmissions } from '../../../projections/admission/admission.ts';
import { admissionSessionSettings } from '../../../projections/admission/admission-statement.ts';
import { newId } from '../../../src/system/clock-and-chance.ts';
import { scaled } from '../../support/proof-scale.ts';
import {
  insertCredits,
  insertJob,
  insertKey,
  letTimePass,
  pretendAdmitted,
  readWindow,
  signCredits,
  type TestKey,
} from '../key-windows.ts';
import { believed, createReadModels, readModelsOfFile, testMacs } from '../read-models-under-test.ts';

const models = readModelsOfFile();
let pool: Pool;
let admissions: Admissions;
beforeAll(() => {
  pool = models.pool;
  admissions = models.openAdmissions();
});

async function admit({ keyHash }: TestKey): Promise<Admission> {
  const admission = await admissions.admit({ keyHash });
  if (!admission) throw new Error('the key is not known');
  return admission;
}

const outcomeOf = async (key: TestKey) => (await admit(key)).outcome;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('a key', () => {
  it('is let in as its account, with what is left of its hour', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    const admitted = [await admit(key), await admit(key), await admit(key)];
    expect(admitted.map(({ outcome, window }) => [outcome, window.limit, window.remaining])).toEqual([
      ['admitted', 3, 2],
      ['admitted', 3, 1],
      ['admitted', 3, 0],
    ]);
    expect(admitted[0]).toMatchObject({ keyId: key.keyId, accountId: key.accountId, usage: undefined, job: undefined });
    const refused = await admit(key);
    expect(refused).toMatchObject({ outcome: 'rate_limited', keyId: key.keyId, window: { limit: 3, remaining: 0 } });
    expect(new Set([...admitted, refused].map(({ window }) => window.resetAtSeconds)).size).toBe(1);
  });

  it('that is unknown or revoked is nobody', async () => {
    const revoked = await insertKey(pool, { revoked: true });
    const unknown = randomBytes(32).toString('hex');
    expect(await admissions.admit({ keyHash: unknown })).toBeUndefined();
    expect(await admissions.admit({ keyHash: revoked.keyHash })).toBeUndefined();
    expect(await readWindow(pool, revoked)).toMatchObject({ agoSeconds: [] });
  });

  it('counts only what was admitted', async () => {
    const key = await insertKey(pool, { hourlyLimit: 2 });
    for (let request = 0; request < 6; request += 1) await admit(key);
    expect((await readWindow(pool, key)).agoSeconds).toHaveLength(2);
  });

  it('whose limit was lowered below what it has used waits until that has left the window', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    await pretendAdmitted(pool, key, [3_599_000, 20_000, 10_000]);
    await pool.query('update api_key_window set hourly_limit = 1 where key_id = $1', [key.keyId]);
    expect(await admit(key)).toMatchObject({ outcome: 'rate_limited', window: { limit: 1, remaining: 0 } });
  });
});

describe('the hourly limit is exact', () => {
  it('over two processes and any number of requests at once: each of its places is given once', async () => {
    const limit = 120;
    const key = await insertKey(pool, { hourlyLimit: limit });
    const processes = [admissions, models.openAdmissions()];
    const asked = Array.from({ length: scaled(1000) }, (_, index) => processes[index % 2]!.admit(key));
    const answers = await Promise.all(asked);
    const admitted = answers.filter((answer) => answer?.outcome === 'admitted');
    const places = admitted.map((answer) => answer?.window.remaining ?? -1).sort((one, other) => one - other);
    expect(places).toEqual(Array.from({ length: limit }, (_, index) => index));
    const refused = answers.filter((answer) => answer?.outcome === 'rate_limited');
    expect(refused).toHaveLength(asked.length - limit);
    expect((await readWindow(pool, key)).agoSeconds).toHaveLength(limit);
  });

  it('for each of many keys in one batch, in the order of arrival', async () => {
    const keys = await Promise.all([1, 2, 3, 4].map((hourlyLimit) => insertKey(pool, { hourlyLimit })));
    const rounds = Array.from({ length: 5 }, () => keys.map((key) => outcomeOf(key)));
    const outcomes = await Promise.all(rounds.map((round) => Promise.all(round)));
    keys.forEach((_key, index) => {
      const ofKey = outcomes.map((round) => round[index]);
      const limit = index + 1;
      expect(ofKey).toEqual(ofKey.map((_outcome, round) => (round < limit ? 'admitted' : 'rate_limited')));
    });
  });
});

describe('the window slides', () => {
  it('and a request leaves it an hour after it was admitted', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    await pretendAdmitted(pool, key, [hourMs + 2_000, hourMs - 60_000, 5_000]);
    expect([await outcomeOf(key), await outcomeOf(key)]).toEqual(['admitted', 'rate_limited']);
    await letTimePass(pool, key, 61_000);
    expect([await outcomeOf(key), await outcomeOf(key)]).toEqual(['admitted', 'rate_limited']);
    await letTimePass(pool, key, hourMs);
    const outcomes = [await outcomeOf(key), await outcomeOf(key), await outcomeOf(key), await outcomeOf(key)];
    expect(outcomes).toEqual(['admitted', 'admitted', 'admitted', 'rate_limited']);
  });

  it('and says when its oldest request leaves', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    await pretendAdmitted(pool, key, [1_800_000, 60_000]);
    const before = Date.now();
    const { window } = await admit(key);
    const after = Date.now();
    expect(window.remaining).toBe(0);
    expect(window.resetAtSeconds * 1000).toBeGreaterThanOrEqual(before + 1_800_000 - 1_000);
    expect(window.resetAtSeconds * 1000).toBeLessThanOrEqual(after + 1_800_000 + 1_001);
  });

  it('and an empty one says an hour from now', async () => {
    const key = await insertKey(pool);
    const before = Date.now();
    const { window } = await admit(key);
    expect(window.resetAtSeconds).toBeGreaterThanOrEqual(Math.floor(before / 1000) + 3_600);
    expect(window.resetAtSeconds).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 3_601);
  });
});

describe('a key that is sixty days old', () => {
  it('works after it was idle all that time', async () => {
    const key = await insertKey(pool, { hourlyLimit: 2 });
    await pretendAdmitted(pool, key, [60 * dayMs, 60 * dayMs - 1_000]);
    expect([await outcomeOf(key), await outcomeOf(key), await outcomeOf(key)]).toEqual([
      'admitted',
      'admitted',
      'rate_limited',
    ]);
    expect((await readWindow(pool, key)).baseSeconds).toBeLessThan(60);
  });

  it('works after it was used every day', async () => {
    const key = await insertKey(pool, { hourlyLimit: 2 });
    for (let day = 0; day < 60; day += 1) {
      await letTimePass(pool, key, dayMs);
      const outcomes = [await outcomeOf(key), await outcomeOf(key), await outcomeOf(key)];
      expect(outcomes, `day ${day}`).toEqual(['admitted', 'admitted', 'rate_limited']);
    }
    expect((await readWindow(pool, key)).baseSeconds).toBeLessThan(13 * 24 * 3_600);
  });

  it('keeps an exact window while its instants get a new base', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    await pretendAdmitted(pool, key, [1_000_000_000 - 60 * 60_000]);
    for (let step = 0; step < 6; step += 1) {
      await letTimePass(pool, key, 25 * 60_000);
      expect([await outcomeOf(key), step < 2 ? undefined : await outcomeOf(key)], `step ${step}`).toEqual([
        'admitted',
        step < 2 ? undefined : 'rate_limited',
      ]);
      const expected = [3_000, 1_500, 0].slice(step < 2 ? 2 - step : 0);
      const { agoSeconds } = await readWindow(pool, key);
      agoSeconds.forEach((ago, index) => expect(Math.abs(ago - expected[index]!)).toBeLessThan(30));
      expect(agoSeconds).toHaveLength(expected.length);
    }
    expect((await readWindow(pool, key)).baseSeconds).toBeLessThan(6 * 1_500);
  });
});

describe('what comes with an admission', () => {
  it('is the newest credits row of the account', async () => {
    const key = await insertKey(pool);
    for (const month of [10, 12, 11]) await insertCredits(pool, key.accountId, month);
    const { usage } = await admit(key);
    expect(usage).toMatchObject({ revision: 0, usage: { period: { start: '2026-12-01T00:00:00.000Z' } } });
  });

  it('is the credits row of now, also where one that was wrong was corrected at the same revision', async () => {
    const key = await insertKey(pool, { hourlyLimit: 9 });
    await insertCredits(pool, key.accountId, 11);
    const downloads = async () =>
      (believed((await admit(key)).usage)?.usage as { downloads?: number } | undefined)?.downloads;
    expect(await downloads()).toBe(0);
    await pool.query('update credits set downloads = 5 where account_id = $1', [key.accountId]);
    await signCredits(pool, key.accountId);
    expect(await downloads()).toBe(5);
  });

  it('shows a job’s instants in UTC, to the millisecond', async () => {
    const key = await insertKey(pool, { hourlyLimit: 9 });
    const token = newId('key');
    await insertJob(pool, token, key.accountId);
    for (const [written, read] of [
      ['2026-11-21 10:26:11.5+00', '2026-11-21T10:26:11.500Z'],
      ['2026-11-21 10:26:11+00', '2026-11-21T10:26:11.000Z'],
      ['2026-11-21 10:26:11.123456+00', '2026-11-21T10:26:11.123Z'],
      ['2026-11-21 10:26:11.007-05', '2026-11-21T15:26:11.007Z'],
    ] as const) {
      await pool.query('update jobs set queued_at = $2, started_at = null where token = $1', [token, written]);
      const { job } = (await admissions.admit({ keyHash: key.keyHash, token })) ?? {};
      expect([job?.queued_at, job?.started_at]).toEqual([read, null]);
    }
  });

  it('is the row of the job asked for, whoever owns it, for every request of a batch', async () => {
    const keys = [await insertKey(pool, { hourlyLimit: 9 }), await insertKey(pool, { hourlyLimit: 9 })];
    const tokens = Array.from({ length: 4 }, () => newId('key'));
    for (const [index, token] of tokens.entries()) await insertJob(pool, token, keys[index % 2]!.accountId);
    const [one, other] = keys.map(({ keyHash }) => keyHash);
    const missing = newId('key');
    const asked: [string, string | undefined][] = [
      [one!, tokens[0]],
      [one!, tokens[1]],
      [one!, undefined],
      [one!, tokens[2]],
      [one!, tokens[1]],
      [one!, missing],
      [other!, missing],
      [other!, tokens[3]],
    ];
    const answers = await Promise.all(
      asked.map(([keyHash, token]) => admissions.admit(token === undefined ? { keyHash } : { keyHash, token })),
    );
    expect(answers.map((answer) => answer?.job?.token)).toEqual(
      asked.map(([, token]) => (token === missing ? undefined : token)),
    );
    expect(answers[0]?.job).toMatchObject({ status: 'queued', queued_at: '2026-11-14T12:00:00.000Z' });
    expect(answers.map((answer) => answer?.window.remaining)).toEqual([8, 7, 6, 5, 4, 3, 8, 7]);
  });
});

describe('a batch that fails', () => {
  it('is tried again one by one, so that only the request at fault does', async () => {
    const key = await insertKey(pool, { hourlyLimit: 3 });
    const answers = await Promise.allSettled([
      admit(key),
      admissions.admit({ keyHash: 'no hash at all' }),
      admit(key),
      admissions.admit({ keyHash: 'z'.repeat(64) }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect((await readWindow(pool, key)).agoSeconds).toHaveLength(2);
    expect(await admit(key)).toMatchObject({ outcome: 'admitted', window: { remaining: 0 } });
  });
});

it('no request reads a whole table', async () => {
  await using large = await createReadModels();
  const [only] = [large.pool];
  await only.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
       status, revision, attempts, queued_at, waiting_since)
     select 'token' || n, 'acc', 'usage', 2, 'sample', 'v', 'http://v', 'video', 'best', false, 'done', 3, 1, now(), now()
     from generate_series(1, 5000) n`,
  );
  await only.query(
    `insert into api_key_window (hash, key_id, account_id, hourly_limit)
     select md5(n::text)::uuid, 'key' || n, 'acc' || n, 9 from generate_series(1, 5000) n`,
  );
  await only.query(
    `insert into credits select 'acc' || n, now(), now() + interval '1 month', 'usage' || n, 0, repeat('a', 64), now(), 'open', 1,
       'dev_100', '{}', 0, 0, 0, 0, 0, null from generate_series(1, 5000) n`,
  );
  const key = await insertKey(only, { hourlyLimit: 100 });
  await only.query('analyze');
  const scans = async () => {
    const { rows } = await only.query<{ relname: string; seq_scan: string; idx_scan: string }>(
      "select relname, seq_scan, idx_scan from pg_stat_user_tables where relname in ('jobs', 'api_key_window', 'credits')",
    );
    return new Map(rows.map((row) => [row.relname, { whole: Number(row.seq_scan), byIndex: Number(row.idx_scan) }]));
  };
  // A session tells what it has read when it ends, at the latest.
  const session = large.openAnother(admissionSessionSettings);
  await only.query('select pg_stat_force_next_flush()');
  const before = await scans();
  const fresh = createAdmissions(session, { measureTime: () => () => undefined, macs: testMacs });
  for (let request = 0; request < 20; request += 1) {
    const asked = [1, 2, 3].map((token) => fresh.admit({ keyHash: key.keyHash, token: `token${request * 3 + token}` }));
    for (const answer of await Promise.all(asked)) expect(answer?.job?.status).toBe('done');
  }
  await session.query('select pg_stat_force_next_flush()');
  const after = await scans();
  for (const [table, { whole }] of after) {
    expect(whole - (before.get(table)?.whole ?? 0), `whole reads of ${table}`).toBe(0);
  }
  expect(after.get('jobs')!.byIndex).toBeGreaterThan(before.get('jobs')!.byIndex);
});

describe('a place that is given back', () => {
  const placeOf = async (key: TestKey) => {
    const { place } = await admit(key);
    if (!place) throw new Error('the request was not admitted');
    return place;
  };

  it('is free again, once', async () => {
    const key = await insertKey(pool, { hourlyLimit: 2 });
    const places = [await placeOf(key), await placeOf(key)];
    expect(await outcomeOf(key)).toBe('rate_limited');
    expect(await admissions.giveBack(places[0]!)).toBe(true);
    expect(await outcomeOf(key)).toBe('admitted');
    expect(await outcomeOf(key)).toBe('rate_limited');
  });

  it('leaves the others as they are, in their order', async () => {
    const key = await insertKey(pool, { hourlyLimit: 10 });
    await pretendAdmitted(pool, key, [3_000_000, 2_000_000, 1_000_000]);
    const before = await readWindow(pool, key);
    const [place, later] = [await placeOf(key), await placeOf(key)];
    expect(await admissions.giveBack(place)).toBe(true);
    expect((await readWindow(pool, key)).admittedMs).toEqual([...before.admittedMs, later.instantMs]);
  });

  it('is one of several that were counted at the same instant', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    const together = await Promise.all([admit(key), admit(key), admit(key)]);
    expect(new Set(together.map(({ place }) => place?.instantMs)).size).toBe(1);
    for (const [index, { place }] of together.entries()) {
      expect(await admissions.giveBack(place!)).toBe(true);
      expect((await readWindow(pool, key)).agoSeconds).toHaveLength(2 - index);
    }
    expect(await admissions.giveBack(together[0].place!)).toBe(false);
  });

  it('is found although the row has another base by then', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    await placeOf(key);
    await letTimePass(pool, key, 13 * dayMs);
    const earlier = await admit(key);
    await pool.query(
      `update api_key_window set base = base + 17 * interval '1 millisecond', admitted_ms =
         array(select instant - 17 from unnest(admitted_ms) instant) where key_id = $1`,
      [key.keyId],
    );
    expect(await admissions.giveBack(earlier.place!)).toBe(true);
    expect((await readWindow(pool, key)).agoSeconds).toEqual([]);
  });

  it('is no other one, once its own has left the window', async () => {
    const key = await insertKey(pool, { hourlyLimit: 5 });
    const place = await placeOf(key);
    await letTimePass(pool, key, 2 * hourMs);
    const later = await placeOf(key);
    // The row's clock was put back, and so is the place: else both requests might have the same millisecond.
    const earlier = { ...place, baseMs: String(Number(place.baseMs) - 2 * hourMs) };
    expect(await admissions.giveBack(earlier)).toBe(false);
    expect((await readWindow(pool, key)).admittedMs).toEqual([later.instantMs]);
  });

  it('over two processes, any number at once: what is left is what was not given back', async () => {
    const key = await insertKey(pool, { hourlyLimit: 500 });
    const processes = [admissions, models.openAdmissions()];
    const given = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const process = processes[index % 2]!;
        const admitted = await process.admit(key);
        return index % 4 < 3 && admitted?.place ? process.giveBack(admitted.place) : 'kept';
      }),
    );
    expect(given.filter((outcome) => outcome === true)).toHaveLength(300);
    expect((await readWindow(pool, key)).agoSeconds).toHaveLength(100);
  });
});
