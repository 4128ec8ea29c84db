import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { within } from '../cli/command-line.ts';
import { queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { scrape } from '../support/scraped-metrics.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** An event store that other systems use too, under names like ours. */
const prefix = 'mine-';
const foreign = [
  ...['account-1', 'usage-acl-1', `job-${randomUUID()}`, 'invoices-2026'],
  ...[`${prefix}account-1`, `${prefix}usage-acl-1`, `${prefix}job-${randomUUID()}`, `${prefix}invoices-2026`],
];

const installation = installationOfFile();
let client: EventStoreDBClient;
let [api, projector]: ServiceProcess[] = [];
beforeAll(async () => {
  client = EventStoreDBClient.connectionString(installation.environment.EVENTSTORE_URL);
  await writeForeignStreams();
  const first = { EVENTSTORE_PREFIX: prefix };
  projector = await installation.startRole('projector', first);
  // A process without a setting takes the fixed prefix.
  api = await installation.startRole('api');
});
afterAll(() => client.dispose());

const run = (...words: string[]) => within(installation.environment)(...words);

async function writeForeignStreams(): Promise<void> {
  for (const stream of foreign)
    await client.appendToStream(stream, jsonEvent({ type: 'SomethingOfOthers', data: { of: 'others' } }));
}

async function skipped(): Promise<number> {
  const { metrics } = await scrape(projector!.url);
  const metric = metrics.find(({ name }) => name === 'reeltally_foreign_events_skipped_total');
  return metric?.samples[0]?.value ?? 0;
}

let accountId: string;

it('is used under names of our own, and the streams of others are skipped and counted', async () => {
  const { key, ...opened } = await installation.openAccount('dev_100');
  ({ accountId } = opened);
  const { request_token: token } = await queue(api!.url, key, { url: installation.sampleUrl('bars') });
  await writeForeignStreams();
  expect(await installation.cli(['jobs', 'timeline', token])).toMatchObject({ behind: false });
  expect((await run('ledger', 'verify')).code).toBe(0);

  const written = (await installation.readLog()).map(({ stream }) => stream);
  const ours = new Set(written.filter((stream) => !foreign.includes(stream)));
  for (const stream of ours) expect(stream).toMatch(/^mine-(?:account|usage|job|invoices)-/);
  expect(ours).toContain(`${prefix}account-${accountId}`);
  // The four under our prefix, twice.
  await waitFor(async () => (await skipped()) >= 8, { what: 'the streams of others to be counted' });
  expect(projector!.log()).not.toContain('SomethingOfOthers');
});

it('keeps the prefix of its first start', async () => {
  for (const other of ['other-', 'mine2-']) {
    const refused = await within({ ...installation.environment, EVENTSTORE_PREFIX: other })(
      'accounts',
      'show',
      accountId,
    );
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(
      `EVENTSTORE_PREFIX is "${other}", but the streams of this installation begin with "mine-"`,
    );
    await expect(installation.startRole('dispatcher', { EVENTSTORE_PREFIX: other })).rejects.toThrow(
      'EVENTSTORE_PREFIX',
    );
  }
  const same = await within({ ...installation.environment, EVENTSTORE_PREFIX: prefix })('accounts', 'show', accountId);
  expect(same.code).toBe(0);
});

it('an event of ours that cannot be read is said once by each read model that it stops, with the command that shows it', async () => {
  const stream = `account-${accountId}`;
  const events = (await installation.readLog(`${prefix}${stream}`)).length;
  await client.appendToStream(`${prefix}${stream}`, jsonEvent({ type: 'AccountTeleported', data: { to: 'Mars' } }));
  const command = `reeltally log show ${stream} --revision ${events}`;
  const lines = () => jsonLines(projector!.log()).filter((line) => JSON.stringify(line).includes('cannot be read'));
  const stopped = ['api_keys', 'people'];
  await waitFor(() => lines().length >= stopped.length, { what: 'the complaints' });
  for (const subscription of stopped)
    expect(lines()).toContainEqual(expect.objectContaining({ level: 50, subscription, command }));

  const before = projector!.log().length;
  const words = command.split(' ').slice(1);
  expect(await installation.cli(words)).toMatchObject({
    stream,
    events: [{ revision: events, type: 'AccountTeleported', data: { to: 'Mars' } }],
  });
  expect((await run(...words)).stdout).toContain('{"to":"Mars"}');
  expect(await installation.cli(['log', 'show', stream])).toMatchObject({ events: { length: events + 1 } });
  expect(await run('log', 'show', 'account-nobody')).toMatchObject({ code: 1, stdout: '' });
  // Several attempts later.
  const { metrics } = await scrape(projector!.url);
  expect(metrics.length).toBeGreaterThan(0);
  expect(lines()).toHaveLength(stopped.length);
  expect(projector!.log().length).toBe(before);
});
