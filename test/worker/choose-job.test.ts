import { beforeEach, describe, expect, it } from 'vitest';
import { readTurn } from '../../projections/work-lists/jobs-in-turn.ts';
import type { QueuedJob } from '../../src/commands/record-job-progress.ts';
import { type Chooser, type ChooserDependencies, createChooser, type Hint } from '../../src/worker/choose-job.ts';
import { readModelsOfFile, silent } from '../projections/read-models-under-test.ts';

const models = readModelsOfFile();
beforeEach(() => models.pool.query('truncate jobs'));

const now = '2026-11-02T00:00:00.000Z';
let heldBack: string[] = [];
beforeEach(() => {
  heldBack = [];
});

const chooserOf = (changed: Partial<ChooserDependencies> = {}): Chooser =>
  createChooser({
    workerId: 'wrk_own',
    maxJobsPerAccount: 2,
    maxJobsPerPlatform: 3,
    firstTurn: '',
    now: () => now,
    readTurn: (wanted) => readTurn(models.pool, wanted),
    logger: silent,
    heldBack: (quota) => void heldBack.push(quota),
    ...changed,
  });

/** A token begins with a letter of its account, and ends with the number of its job, by age. */
const accountOf = (token: string) => `acc_${token.charAt(0).repeat(16)}`;

async function row(
  token: string,
  changed: { status?: string; revision?: number; notBefore?: string; platform?: string } = {},
) {
  const { status = 'queued', revision = -1, notBefore = null, platform = 'sample' } = changed;
  await models.pool.query(
    `insert into jobs (token, account_id, usage_stream, usage_revision, platform, video_id, url, format, quality, overage,
                       status, revision, attempts, worker_id, not_before, queued_at, waiting_since)
     values ($1, $7, 'usage', 2, $5, 'bars', 'url', 'video', 'best', false, $2, $3, 0, 'wrk_other', $4::timestamptz,
             $6::timestamptz + right($1, 1)::int * interval '1 second', $6::timestamptz + right($1, 1)::int * interval '1 second')`,
    [token, status, revision, notBefore, platform, '2026-11-01T00:00:00Z', accountOf(token)],
  );
}

function hintOf(token: string, { jobRevision = -1, platform = 'sample' } = {}): Hint {
  const accountId = accountOf(token);
  const message = { token, usageStream: `usage-${accountId}-20261101`, usageRevision: 2 };
  const ignored = () => undefined;
  return {
    received: {
      message,
      jobRevision,
      traceparent: undefined,
      deliveries: 1,
      acknowledge: ignored,
      keepAlive: ignored,
      postpone: ignored,
    },
    queued: Promise.resolve({ token, accountId, platform, queuedAt: '2026-11-01T00:00:00.000Z' } as QueuedJob),
  };
}

async function tokenOf(chooser: Chooser, hint?: Hint, preferHint?: boolean): Promise<string | undefined> {
  return (await chooser.choose(hint, preferHint)).chosen?.message.token;
}

describe('a free slot', () => {
  it('takes accounts in turn, each by age, and none beyond its limit until a place is given back', async () => {
    for (const token of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) await row(token);
    const chooser = chooserOf({ maxJobsPerPlatform: 10 });
    const first = await chooser.choose(undefined);
    const others = [];
    for (let slot = 0; slot < 5; slot += 1) others.push(await tokenOf(chooser));
    expect([first.chosen?.message.token, ...others]).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', undefined]);
    expect(heldBack).toContain('account');
    first.chosen?.settle();
    first.chosen?.giveBack();
    expect(await tokenOf(chooser)).toBe('a3');
  });

  it('never takes what another slot of this worker takes at the same moment', async () => {
    for (const token of ['a1', 'b1', 'c1']) await row(token);
    const chooser = chooserOf();
    const taken = await Promise.all([1, 2, 3, 4].map(() => tokenOf(chooser)));
    expect(taken.toSorted()).toEqual(['a1', 'b1', 'c1', undefined]);
  });

  it('takes again what could not be claimed, and not what another worker has claimed while the row is behind', async () => {
    await row('a1');
    const chooser = chooserOf();
    (await chooser.choose(undefined)).chosen?.giveBack();
    const { chosen } = await chooser.choose(undefined);
    expect(chosen?.message.token).toBe('a1');
    chosen?.settle();
    chosen?.giveBack();
    expect(await tokenOf(chooser)).toBeUndefined();
    // Queued again, which is a revision later.
    await models.pool.query('update jobs set revision = 1');
    expect(await tokenOf(chooser)).toBe('a1');
  });

  it('takes no more of a platform than this worker may', async () => {
    for (const token of ['a1', 'b1', 'c1']) await row(token, { platform: 'full' });
    await row('a2');
    const chooser = chooserOf({ maxJobsPerPlatform: 2 });
    const taken = [await tokenOf(chooser), await tokenOf(chooser), await tokenOf(chooser), await tokenOf(chooser)];
    expect(taken).toEqual(['a1', 'b1', 'a2', undefined]);
    expect(heldBack.at(-1)).toBe('platform');
    expect(await chooser.choose(hintOf('d1', { platform: 'full' }))).toMatchObject({ chosen: undefined });
  });
});

describe('the job that a message names', () => {
  it('is taken where its row is not there yet, unless its account has more in progress than another that waits', async () => {
    await row('a1');
    await row('b9', { status: 'running', revision: 1 });
    const chooser = chooserOf();
    expect(await chooser.choose(hintOf('b1'))).toMatchObject({
      chosen: { message: { token: 'a1' }, isHint: false },
      hint: { state: 'unknown' },
    });
    expect(await chooser.choose(hintOf('c1'))).toMatchObject({ chosen: { message: { token: 'c1' }, isHint: true } });
    expect(await tokenOf(chooserOf(), hintOf('b1'), true)).toBe('b1');
  });

  it('is known where its row is as new as the message: another may be taken', async () => {
    await row('a1', { status: 'done', revision: 2 });
    await row('b1');
    const chooser = chooserOf();
    expect(await chooser.choose(hintOf('a1'))).toMatchObject({
      chosen: { message: { token: 'b1' } },
      hint: { state: 'known' },
    });
    expect(await chooser.choose(hintOf('b1'))).toMatchObject({ chosen: undefined, hint: { state: 'known' } });
    expect(await chooser.choose(hintOf('a1', { jobRevision: 3 }))).toMatchObject({ hint: { state: 'unknown' } });
  });

  it('is early until the instant before which it may not be claimed', async () => {
    const notBefore = '2026-11-02T00:00:00.001Z';
    await row('a1', { revision: 2, notBefore });
    expect(await chooserOf().choose(hintOf('a1', { jobRevision: 2 }))).toEqual({
      chosen: undefined,
      hint: { state: 'early', notBefore },
    });
  });

  it('waits while its account is at its limit, and counts as held back', async () => {
    for (const token of ['a8', 'a9']) await row(token, { status: 'running', revision: 1 });
    const chooser = chooserOf();
    expect(await chooser.choose(hintOf('a1'))).toEqual({ chosen: undefined, hint: { state: 'unknown' } });
    const [queued, other] = [await hintOf('a1').queued, await hintOf('b1').queued];
    expect([chooser.wasHeldBack(queued!), chooser.wasHeldBack(other!)]).toEqual([true, false]);
  });
});

it('while Postgres is away jobs are taken as messages come, and the limit holds within this worker', async () => {
  let asked = 0;
  const readNothing = () => Promise.reject(new Error(`Postgres is away, ${(asked += 1)}`));
  const chooser = chooserOf({ readTurn: readNothing });
  const taken = [
    await tokenOf(chooser, hintOf('a1')),
    await tokenOf(chooser, hintOf('a2')),
    await tokenOf(chooser, hintOf('a3')),
  ];
  expect(taken).toEqual(['a1', 'a2', undefined]);
  expect([await tokenOf(chooser, hintOf('b1')), await tokenOf(chooser), asked]).toEqual(['b1', undefined, 1]);
});
