import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { startInstallation } from '../support/installation.ts';
import type { Installation } from '../support/installation.ts';
import { readUsageStream } from '../support/log.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The log takes an append and does not answer: what clients are told then, and what is true in the end. */
let installation: Installation;
let api: ServiceProcess;

beforeAll(async () => {
  installation = await startInstallation();
  await installation.startRole('projector');
  api = await installation.startRole('api');
}, 60_000);

afterAll(async () => {
  installation.wakeEventStore();
  await installation[Symbol.asyncDispose]();
}, 60_000);

test(
  'a request whose append is unknown gets no answer, those behind it a clear one, and each is charged as it was told',
  { timeout: 60_000 },
  async () => {
    const { account_id: accountId } = await installation.cli<{ account_id: string }>([
      ...['accounts', 'open', '--email', 'owner@example.com', '--plan', 'enterprise'],
    ]);
    const { key } = await installation.cli<{ key: string }>(['keys', 'issue', accountId]);
    const body = { url: installation.sampleUrl('private') };
    await queue(api.url, key, body);

    installation.silenceEventStore();
    const first = call(api.url, '/video/download', { key, body }).catch((error: unknown) => error);
    await waitFor(async () => (await fetch(`${api.url}/readyz`)).status === 503, {
      what: 'the silence of the event store to be noticed',
    });
    const behind = call(api.url, '/video/download', { key, body });
    expect(await first).toBeInstanceOf(TypeError);
    expect(await behind).toMatchObject({ status: 502, code: 'enqueue_failed' });
    installation.wakeEventStore();

    // The first one is resent until its outcome is known; the next request is decided after it.
    await waitFor(async () => (await call(api.url, '/video/download', { key, body })).status === 202, {
      what: 'a download to be accepted again',
      timeoutMs: 30_000,
      pollMs: 250,
    });
    const events = await readUsageStream(installation.environment['EVENTSTORE_URL'] ?? '', accountId);
    expect(events.filter(({ type }) => type === 'DownloadQueued')).toHaveLength(3);
    expect(events.filter(({ type }) => type === 'DownloadCreditDebited')).toHaveLength(3);
    const { data } = await call(api.url, '/credits', { key });
    expect(data['downloads']).toMatchObject({ used: 3 });
  },
);
