import { expect, it } from 'vitest';
import { portOf } from '../support/event-store.ts';
import { installationOfFile } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { waitFor } from '../support/wait-for.ts';
import { eventStoreOverTls } from './event-store-over-tls.ts';

interface Line {
  level: number;
  msg: string;
  rights?: string[];
}

const installation = installationOfFile();
const embeddedUrl = () => installation.environment.EVENTSTORE_URL;
const all = ['delete streams', 'write metadata of streams', 'delete system streams'];

/** @returns the lines about rights that a role has written when it has stopped */
async function warnings(url: string, isExpected: boolean): Promise<Line[]> {
  await using role = await installation.startRole('projector', { EVENTSTORE_URL: url });
  const read = () => jsonLines<Line>(role.log()).filter(({ rights }) => rights !== undefined);
  if (isExpected) await waitFor(() => read().length > 0, { what: 'the warning' });
  await role.stop();
  return read();
}

it('a user who may do more than the service needs is a warning, once, and the process starts', async () => {
  await using overTls = await eventStoreOverTls(embeddedUrl());
  const lines = await warnings(overTls.url, true);
  expect(lines).toMatchObject([{ level: 40, rights: all }]);
  expect(lines[0]?.msg).toMatch(/^the user of the event store may do more .*deploy\/event-store\/set-users\.ts/);
});

it('a server without users is a warning where others reach it', async () => {
  // It leads to this machine, and does not look as if it did.
  const lines = await warnings(`esdb://0.0.0.0:${portOf(embeddedUrl())}?tls=false`, true);
  expect(lines).toMatchObject([{ level: 40, rights: all }]);
  expect(lines[0]?.msg).toMatch(/^the event store asks for no user/);
});

it('the embedded event store, which has no users, is none', async () => {
  expect(await warnings(embeddedUrl(), false)).toEqual([]);
});
