import { hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasIdempotencyKey, jobTimeline, readTimeline } from '../../projections/job-timeline.ts';
import { readJob } from '../../projections/jobs.ts';
import {
  type DownloadCursor,
  type DownloadFilter,
  type DownloadPage,
  downloadSearchOf,
  listAccountDownloads,
  readAccountDownload,
  readDownloadFacts,
} from '../../projections/queries/account-downloads.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { claimJob, readQueuedJob } from '../../src/commands/record-job-progress.ts';
import { exportedDownloads } from '../../src/console/download-export.ts';
import { downloadList } from '../../src/console/download-list.ts';
import { html } from '../../src/documents/html.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { changedLog } from '../commands/noted-reads.ts';
import {
  ask,
  downloadOf,
  freshCause,
  freshToken,
  openUsage,
  type UsageAccount,
  writersOf,
} from '../commands/usage-account.ts';
import { patienceMs } from '../support/wait-for.ts';
import { readModelsOfFile, readModelsOfTest } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, usageAndJobs, jobTimeline);

const at = (minute: number) => new Date(Date.UTC(2026, 10, 14, 12, minute)).toISOString();

interface Wanted {
  minute?: number;
  actor?: ReturnType<typeof freshCause>['actor'];
  changed?: Partial<ReturnType<typeof downloadOf>>;
}

async function download(account: UsageAccount, { minute = 0, actor, changed }: Wanted = {}): Promise<string> {
  const token = freshToken();
  const cause = { ...freshCause(), ...(actor && { actor }) };
  await ask(
    writersOf(log.store, () => at(minute)),
    account,
    { ...downloadOf(token), ...changed },
    { cause },
  );
  return token;
}

async function claim(account: UsageAccount, token: string, usageRevision: number): Promise<void> {
  const message = { token, usageStream: account.stream, usageRevision };
  const job = await readQueuedJob(log.store, message);
  await claimJob(
    { store: log.store, now: () => at(50), newUuid },
    { workerId: newId('wrk'), job: job!, message, timeoutMs: patienceMs },
  );
}

const tokensOf = ({ downloads }: DownloadPage) => downloads.map(({ token }) => token);

describe('the row of a download', () => {
  it('has the key of its request and the cents of its charge', async () => {
    const account = await openUsage(log.store, { downloads_limit: 1, overage_cents: 25 });
    const keyed = await download(account, { actor: { type: 'api_key', id: 'key_aaaaaaaaaaaaaaaa' } });
    const other = await download(account, { actor: { type: 'system', id: 'test' } });
    await models.caughtUp();
    expect(await readJob(models.pool, keyed)).toMatchObject({ key_id: 'key_aaaaaaaaaaaaaaaa', cents: 0 });
    expect(await readJob(models.pool, other)).toMatchObject({ key_id: null, cents: 25 });
    await claim(account, other, 4);
    await models.caughtUp();
    expect(await readJob(models.pool, other)).toMatchObject({ status: 'claimed', key_id: null, cents: 25 });
  });

  it('has its cents although the charge came in the batch before', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 25 });
    const tokens = [await download(account), await download(account)];
    // One event at a time.
    const store = changedLog(log.store, {
      subscribe: (options) =>
        log.store.subscribe({
          ...options,
          apply: async (batch) => {
            for (const event of batch.events) {
              const position = { commit: event.position, prepare: event.position };
              await options.apply({ events: [event], position });
            }
            await options.apply({ events: [], position: batch.position });
          },
        }),
    });
    const slow = await readModelsOfTest(store, [usageAndJobs]);
    await slow.caughtUp();
    for (const token of tokens) expect(await readJob(slow.pool, token)).toMatchObject({ cents: 25 });
  });
});

describe('the downloads of an account', () => {
  let account: UsageAccount;
  /** The oldest first: two of the same instant, and each third of them with other properties. */
  const tokens: string[] = [];
  const page = (filter: DownloadFilter = {}, wanted: Partial<Parameters<typeof listAccountDownloads>[1]> = {}) =>
    listAccountDownloads(models.pool, { accountId: account.accountId, filter, limit: 50, ...wanted });

  beforeAll(async () => {
    account = await openUsage(log.store, { downloads_limit: 5, overage_cents: 25 });
    const other = await openUsage(log.store);
    for (let number = 0; number < 9; number += 1) {
      const isThird = number % 3 === 0;
      const video = { platform: 'vimeo', videoId: String(number), canonicalUrl: `https://vimeo.com/${String(number)}` };
      const token = await download(account, {
        minute: Math.floor(number / 2),
        ...(isThird && { changed: { video, format: 'audio' }, actor: { type: 'api_key', id: 'key_of_thirds' } }),
      });
      tokens.push(token);
      await download(other, { minute: number });
    }
    await models.caughtUp();
    const { rows } = await models.pool.query<{ token: string }>(
      'select token from jobs where account_id = $1 order by queued_at, token',
      [account.accountId],
    );
    tokens.splice(0, tokens.length, ...rows.map(({ token }) => token));
    await models.pool.query("update jobs set status = 'failed' where token = $1", [tokens[1]]);
    await models.pool.query("update jobs set title = 'Über 100% of a_film' where token = $1", [tokens[4]]);
  });

  it('come the newest first, without those of others', async () => {
    const whole = await page();
    expect(whole).toMatchObject({ next: undefined, lookedTo: undefined });
    expect(tokensOf(whole)).toEqual(tokens.toReversed());
    expect(whole.downloads[0]).toEqual(await readJob(models.pool, tokens.at(-1)!));
  });

  it.each([1, 2, 4, 9])('come in pages of %i, to the end and back', async (limit) => {
    const seen: string[] = [];
    let after: DownloadCursor | undefined;
    do {
      const { downloads, next } = await page({}, { limit, after });
      seen.push(...downloads.map(({ token }) => token));
      after = next;
    } while (after);
    expect(seen).toEqual(tokens.toReversed());
    const oldest = (await page()).downloads.at(-1)!;
    const back: string[] = [tokens[0]!];
    let before: DownloadCursor | undefined = { queuedAt: oldest.queued_at, token: oldest.token };
    do {
      const newer: DownloadPage = await page({}, { limit, before });
      back.unshift(...tokensOf(newer));
      // It goes on from its newest.
      if (newer.next) expect(newer.next.token).toBe(tokensOf(newer)[0]);
      before = newer.next;
    } while (before);
    expect(back).toEqual(tokens.toReversed());
  });

  it('come by each filter', async () => {
    const { downloads } = await page();
    const expected = (is: (job: (typeof downloads)[number]) => boolean) =>
      downloads.filter(is).map(({ token }) => token);
    const filters: [DownloadFilter, (job: (typeof downloads)[number]) => boolean][] = [
      [{ status: 'failed' }, ({ status }) => status === 'failed'],
      [{ platform: 'vimeo' }, ({ platform }) => platform === 'vimeo'],
      [{ format: 'audio' }, ({ format }) => format === 'audio'],
      [{ overage: true }, ({ overage }) => overage],
      [{ overage: false }, ({ overage }) => !overage],
      [{ keyId: 'key_of_thirds' }, ({ key_id: id }) => id === 'key_of_thirds'],
      [{ from: at(1), to: at(3) }, ({ queued_at: time }) => time >= at(1) && time < at(3)],
      [
        { platform: 'vimeo', overage: false, from: at(1) },
        (job) => job.platform === 'vimeo' && !job.overage && job.queued_at >= at(1),
      ],
      [{ search: { videoId: '6' } }, ({ video_id: id }) => id === '6'],
      [{ search: { videoId: 'ÜBER 100% of A_' } }, ({ title }) => title !== null],
      [{ search: { platform: 'vimeo', videoId: '6' } }, ({ video_id: id }) => id === '6'],
      [{ search: { url: 'https://vimeo.com/3' } }, ({ video_id: id }) => id === '3'],
      [{ search: { token: tokens[2]! } }, ({ token }) => token === tokens[2]],
    ];
    for (const [filter, is] of filters) {
      expect(tokensOf(await page(filter)), JSON.stringify(filter)).toEqual(expected(is));
      expect(expected(is).length, JSON.stringify(filter)).toBeGreaterThan(0);
    }
    expect(tokensOf(await page({ search: { platform: 'youtube', videoId: '6' } }))).toEqual([]);
    expect(tokensOf(await page({ search: { videoId: '1000% of a' } }))).toEqual([]);
  });

  it('of a rare kind come with how far was looked, in a bounded number of rows', async () => {
    const rare = { search: { token: tokens[1]! } };
    expect(tokensOf(await page(rare, { maxLooked: 2 }))).toEqual([tokens[1]]);
    const looked: [tokens: string[], to: string | undefined][] = [];
    let after: DownloadCursor | undefined;
    do {
      const found = await page({ status: 'failed' }, { maxLooked: 4, after });
      looked.push([tokensOf(found), found.lookedTo]);
      expect(found.next?.queuedAt).toBe(found.lookedTo);
      after = found.next;
    } while (after);
    const timeOf = async (token: string | undefined) => (await readJob(models.pool, token ?? ''))?.queued_at;
    expect(looked).toEqual([
      [[], await timeOf(tokens[5])],
      [[tokens[1]], await timeOf(tokens[1])],
      [[], undefined],
    ]);
    const upwards = await page({ status: 'failed' }, { maxLooked: 3, before: { queuedAt: at(2), token: '' } });
    expect(upwards).toMatchObject({ downloads: [], lookedTo: await timeOf(tokens[6]) });
    expect(upwards.next?.token).toBe(tokens[6]);
  });

  it('that match as many as fit on a page leave out none of the rows behind', async () => {
    const found = await page({}, { maxLooked: 3, limit: 3 });
    expect(tokensOf(found)).toEqual(tokens.slice(-3).toReversed());
    expect(tokensOf(await page({}, { after: found.next }))).toEqual(tokens.slice(0, -3).toReversed());
  });

  it('from before the column of the key match no key', async () => {
    await models.pool.query('update jobs set key_id = null, cents = null where token = $1', [tokens[0]]);
    const { downloads } = await page();
    expect(downloads.at(-1)).toMatchObject({ token: tokens[0], key_id: null, cents: null });
    expect(tokensOf(await page({ keyId: 'key_of_thirds' }))).not.toContain(tokens[0]);
  });
});

describe('a search', () => {
  const isToken = (text: string) => text === 'A token of ours';

  it.each([
    ['A token of ours', { token: 'A token of ours' }],
    ['jNQXAC9IVRw', { videoId: 'jNQXAC9IVRw' }],
    ['https://youtu.be/jNQXAC9IVRw?t=3', { platform: 'youtube', videoId: 'jNQXAC9IVRw' }],
    ['https://not-served.example/1', { url: 'https://not-served.example/1' }],
    ['http://127.0.0.1:9/v/clip', { url: 'http://127.0.0.1:9/v/clip' }],
  ])('for %s', (text, expected) => {
    expect(downloadSearchOf(text, { isToken })).toEqual(expected);
  });
});

describe('one download', () => {
  it('comes with its timeline, for its own account alone', async () => {
    const [own, other] = [await openUsage(log.store), await openUsage(log.store)];
    const token = await download(own);
    await claim(own, token, 2);
    await models.caughtUp();
    const found = await readAccountDownload(models.pool, { accountId: own.accountId, token });
    expect(found?.download).toEqual(await readJob(models.pool, token));
    expect(found?.timeline.map(({ type }) => type)).toEqual(['DownloadCreditDebited', 'DownloadQueued', 'JobClaimed']);
    expect(await readAccountDownload(models.pool, { accountId: other.accountId, token })).toBeUndefined();
    expect(await readAccountDownload(models.pool, { accountId: own.accountId, token: freshToken() })).toBeUndefined();
  });
});

describe('what a list says beside a download', () => {
  it('a credit that was given back is not spent, by a void and by a failure of the service', async () => {
    const account = await openUsage(log.store, { downloads_limit: 3, overage_cents: 25 });
    const [kept, voided, failed] = [await download(account), await download(account), await download(account)];
    const [charged, returned] = [await download(account), await download(account)];
    for (const token of [voided, returned])
      await correct(log.store, account.stream, { kind: 'void_download', token }, { now: at(1) });
    await correct(
      ...[log.store, account.stream],
      { kind: 'return_service_failure', token: failed, reference: `service-failure-${failed}` },
      { now: at(1), actor: { type: 'system', id: 'service-failures' } },
    );
    await models.caughtUp();
    const { accountId } = account;
    const exported = exportedDownloads(models.pool, { accountId, filter: {}, keys: [] });
    const rows = (await Array.fromAsync(exported.rows(new AbortController().signal))).flat();
    const money = (token: string) => rows.find((row) => 'token' in row && row.token === token);
    const none = { credits: 0, overage_cents: 0, given_back_cents: 0 };
    expect(money(kept)).toMatchObject({ ...none, credits: 1 });
    expect(money(voided)).toMatchObject(none);
    expect(money(failed)).toMatchObject(none);
    expect(money(charged)).toMatchObject({ ...none, overage_cents: 25 });
    expect(money(returned)).toMatchObject({ ...none, overage_cents: 25, given_back_cents: 25 });
    const found = await listAccountDownloads(models.pool, { accountId, limit: 50 });
    const about = await readDownloadFacts(models.pool, { accountId, tokens: tokensOf(found) });
    const place = { list: '/list', download: '/list/', platforms: {} };
    const shown = downloadList(found, [], { ...place, query: new URLSearchParams(), none: html``, about });
    expect(shown.text).toMatch(/All 5.*>1 credit\s*<div>\$0\.50<\/div>\s*<div class="soft">\$0\.25 given back/s);
  });

  it('an Idempotency-Key is one that came with an API key, not that of a form', async () => {
    const account = await openUsage(log.store);
    const changed = () => ({
      idempotency: { keyHash: hash('sha256', newUuid()), fingerprint: hash('sha256', 'same') },
    });
    const byKey = await download(account, { changed: changed() });
    const byForm = await download(account, { changed: changed(), actor: { type: 'system', id: 'test' } });
    const without = await download(account);
    await models.caughtUp();
    const { accountId } = account;
    const about = await readDownloadFacts(models.pool, { accountId, tokens: [byKey, byForm, without] });
    const said = (token: string) => about.get(token)?.hasIdempotencyKey;
    expect([said(byKey), said(byForm), said(without)]).toEqual([true, false, false]);
    const ofTimeline = async (token: string) => hasIdempotencyKey(await readTimeline(models.pool, token));
    expect([await ofTimeline(byKey), await ofTimeline(byForm), await ofTimeline(without)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(hasIdempotencyKey([])).toBeUndefined();
  });
});
