import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { apiKeys } from '../../projections/api-keys.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { RequestTokens } from '../../src/commands/ids/request-token.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import type { FailureReason } from '../../src/domain/failure-reasons.ts';
import { failQueued } from '../commands/charged-account.ts';
import { ask, freshCause, writersOf } from '../commands/usage-account.ts';
import { createReadModels, testSecret } from '../projections/read-models-under-test.ts';
import { clockOffsetTo, nowWith } from '../support/clock-offset.ts';
import { type Environment, type OpenedAccount, runCli } from '../support/service.ts';
import { openEventStore } from '../support/shared-event-stores.ts';
import { makeDataDirectory } from '../support/temporary-directory.ts';
import { patienceMs } from '../support/wait-for.ts';

/** How the sample platform's items fail. */
const failures = {
  private: 'private_video',
  age: 'age_restricted',
  gone: 'video_unavailable',
  geo: 'geo_blocked',
  song: 'unsupported_media',
} as const satisfies Record<string, FailureReason>;

/**
 * The first billing period of accounts whose console is looked at in the next one. It is told into the log by the commands that a
 * service would give, before the service starts: to start one for it takes longer than to draw all pages.
 */
export interface EarlierMonth extends AsyncDisposable {
  /** The command line, on the first day. */
  cli: <Answer = Record<string, unknown>>(...words: string[]) => Promise<Answer>;
  /** Downloads of an account, one after the other. @returns their tokens */
  fail: (account: OpenedAccount, items: readonly (keyof typeof failures)[]) => Promise<string[]>;
  /** @returns settings of the service that goes on */
  over: () => Promise<Environment>;
}

/** @param day YYYY-MM-DD */
export async function beginEarlierMonth(day: string): Promise<EarlierMonth> {
  await using undo = new AsyncDisposableStack();
  const directory = makeDataDirectory();
  undo.defer(() => rmSync(directory, { recursive: true, force: true }));
  const eventStore = await openEventStore();
  undo.defer(() => eventStore.stop());
  const models = undo.use(await createReadModels());
  // As the start of a demo does.
  await models.pool.query('insert into installation (clock_may_be_shifted) values (true)');
  const environment = {
    REELTALLY_DATA: directory,
    REELTALLY_SECRET: testSecret,
    EVENTSTORE_URL: eventStore.url,
    DATABASE_URL: models.url,
  };
  const store = connectEventStore({ url: eventStore.url, readTimeoutMs: patienceMs });
  undo.defer(() => store.close());
  // Commands wait for these.
  const projectors = models.run(store, usageAndJobs, apiKeys);
  const clock = clockOffsetTo(day);
  const now = () => new Date(nowWith(clock)).toISOString();
  const writers = writersOf(store, now);
  const tokens = new RequestTokens(deriveKeys(testSecret).tokenKey, [], randomBytes);
  const kept = undo.move();
  return {
    cli: (...words) =>
      // Commands want its address, and do not connect to it.
      runCli(words, { ...environment, NATS_URL: 'nats://127.0.0.1:1', ...clock }),
    fail: async ({ accountId, keyId }, items) => {
      const stream = usageStream(accountId, firstBillingPeriod(now()));
      const account = { accountId, stream, origin: usageOrigin(stream) };
      const failed: string[] = [];
      for (const item of items) {
        const token = tokens.issue();
        const video = { platform: 'sample', videoId: item, canonicalUrl: `http://127.0.0.1:8080/watch/${item}` };
        const cause = { ...freshCause(), actor: { type: 'api_key', id: keyId } } as const;
        const wanted = { kind: 'queue_download', token, video, ...defaultOptions } as const;
        const { outcome } = await ask(writers, account, wanted, { cause });
        if (outcome !== 'accepted') throw new Error(`the download of ${item} was ${outcome}`);
        const queued = (await store.read(stream, 0)).findLast(({ type }) => type === 'DownloadQueued');
        const place = { accountId, usageStream: stream, usageRevision: queued?.revision ?? -1, token };
        await failQueued({ store, now }, place, { reason: failures[item], fault: 'video' });
        failed.push(token);
      }
      return failed;
    },
    over: async () => {
      await Promise.all(projectors.map((each) => each.close()));
      return environment;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
