import { afterAll, beforeAll, expect, it } from 'vitest';

import { connectEventStore } from '../../src/adapters/event-store.ts';
import type { ConnectedEventStore } from '../../src/adapters/event-store.ts';
import type { Treatment } from '../support/mail-server.ts';
import { portOf, startEventStore } from '../support/event-store.ts';
import type { TestEventStore } from '../support/event-store.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { mailed, mailingUnderTest, mailsTo, useDownloads } from './mailing.ts';

/** A log that is killed in the middle, so one of this file's own. */
const log: Partial<{ store: ConnectedEventStore }> = {};
const dataDirectory = temporaryDirectoryOfFile();
let server: TestEventStore;
beforeAll(async () => {
  server = await startEventStore({ dataDirectory });
  log.store = connectEventStore({ url: server.url });
});
const mailing = mailingUnderTest(log as { store: ConnectedEventStore });
afterAll(async () => {
  await log.store?.close();
  await server.stop();
});

it('a mail that was taken while the log is away waits for its event, and is not sent again', async () => {
  const store = log.store!;
  const account = await useDownloads(store, 4);
  mailing.server.treat(async (): Promise<Treatment> => {
    await server.kill();
    return 'take';
  });
  const failed: string[] = [];
  const observer = { mailSent: () => undefined, mailFailed: (reason: string) => void failed.push(reason) };
  mailing.start({ observer, recordTimeoutMs: 300 });
  await waitFor(() => failed.length > 0, { what: 'an attempt to record it in vain', timeoutMs: 20_000 });
  expect(failed[0]).toBe('other');
  server = await startEventStore({ dataDirectory, port: portOf(server.url) });
  await mailed(store, account, 1);
  expect(mailsTo(mailing.server.received, account)).toHaveLength(1);
});
