import { cpSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projections } from '../../../projections/all.ts';
import { apiKeys } from '../../../projections/api-keys.ts';
import { readReached } from '../../../projections/runner/checkpoints.ts';
import { type ConnectedEventStore, connectEventStore } from '../../../src/adapters/event-store/event-store.ts';
import { signTreeHead } from '../../../src/dispatcher/sign-tree-heads.ts';
import { signingOfTest } from '../../proof/signing.ts';
import { portOf, startEventStore, type TestEventStore } from '../../support/event-store.ts';
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';
import { appendAll, GeneratedAccount } from '../generated-account.ts';
import { readModelsOfTest, rememberingLogger, type TestReadModels } from '../read-models-under-test.ts';
import { expectRowsOfQuietRunners, rebuildOn, rowsOf, writeLog } from './rebuilding.ts';

const { logger, text: logged } = rememberingLogger();
const refusals = async ({ pool }: TestReadModels): Promise<string[]> =>
  (await pool.query<{ name: string }>('select name from refused_readers order by name')).rows.map(({ name }) => name);
const directory = makeTemporaryDirectory();
const [folder, backup] = [`${directory}/log`, `${directory}/backup`];
let server: TestEventStore;
let store: ConnectedEventStore;
beforeAll(async () => {
  server = await startEventStore({ dataDirectory: folder });
  store = connectEventStore({ url: server.url, logger });
});
afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Stops the event store, does something to its folder, and starts it again at the same address. */
async function whileStopped(change: () => void): Promise<void> {
  const port = portOf(server.url);
  await server.stop();
  change();
  server = await startEventStore({ dataDirectory: folder, port });
  await waitFor(() => store.ready({ timeoutMs: 500 }), { what: 'the event store to be back' });
}

it('after the log was replaced by an older one, the read models refuse, until they are told to follow it', async () => {
  await writeLog(store, 2);
  await whileStopped(() => cpSync(folder, backup, { recursive: true }));
  const account = new GeneratedAccount();
  const opened = account.open();
  const key = account.issueKey();
  await writeLog(store, 3);
  await appendAll(store, [...opened, key.append, account.queue(4)]);
  const signing = await signingOfTest(store);
  await signing.models.caughtUp();
  await signTreeHead(signing);

  const live = await readModelsOfTest(store, projections, { logger });
  await live.caughtUp();
  const before = new Map<string, bigint>();
  for (const { name } of projections) before.set(name, await readReached(live.pool, name));

  await whileStopped(() => {
    rmSync(folder, { recursive: true });
    cpSync(backup, folder, { recursive: true });
  });
  const head = (await store.headPosition()) ?? 0n;

  for (const projection of projections) {
    const { name } = projection;
    const refusal = `the checkpoint of ${name} (`;
    await waitFor(() => logged().includes(refusal), { what: `the refusal of ${name}` });
    await expect(rebuildOn(store, live, projection)).rejects.toThrow('beyond the end of the log');
    expect(await readReached(live.pool, name)).toBe(before.get(name));

    const { position, before: shown, tables } = await rebuildOn(store, live, projection, { fromOlderLog: true });
    expect({ position, shown }).toEqual({ position: head, shown: before.get(name) });
    for (const { surplus } of tables) expect(surplus).toBeGreaterThan(0);
  }
  await expectRowsOfQuietRunners(store, live, projections);
  const { rows } = await live.pool.query('select from api_key_window where key_id = $1', [key.keyId]);
  expect(rows).toEqual([]);

  // The runners go on by themselves, with the first event that the older log did not have.
  await writeLog(store, 2);
  await live.caughtUp();
  await expectRowsOfQuietRunners(store, live, projections);
  for (const projection of projections) {
    const again = await rebuildOn(store, live, projection);
    for (const { missing, surplus } of again.tables) expect({ missing, surplus }).toEqual({ missing: 0, surplus: 0 });
  }
  expect((await rowsOf(live, apiKeys))['api_key_window']!.length).toBeGreaterThan(0);
});

it('after the older log has grown beyond the checkpoints, the read models refuse, and are made anew from it', async () => {
  await writeLog(store, 2);
  await whileStopped(() => {
    rmSync(backup, { recursive: true, force: true });
    cpSync(folder, backup, { recursive: true });
  });
  const live = await readModelsOfTest(store, projections, { logger });
  await writeLog(store, 2);
  await live.caughtUp();
  const shown = (await store.headPosition()) ?? 0n;
  await whileStopped(() => {
    rmSync(folder, { recursive: true });
    cpSync(backup, folder, { recursive: true });
  });
  await writeLog(store, 6);
  expect((await store.headPosition()) ?? 0n).toBeGreaterThan(shown);

  const names = projections.map(({ name }) => name).sort();
  await waitFor(async () => (await refusals(live)).length === names.length, { what: 'all to refuse' });
  expect(await refusals(live)).toEqual(names);
  for (const projection of projections) {
    await expect(live.caughtUp()).rejects.toThrow('the log was replaced by an older one');
    await expect(rebuildOn(store, live, projection)).rejects.toThrow('an event there that the log does not have');
    const { isLogReplaced } = await rebuildOn(store, live, projection, { fromOlderLog: true });
    expect(isLogReplaced).toBe(true);
  }
  await live.caughtUp();
  expect(await refusals(live)).toEqual([]);
  // The runners go on by themselves, and nothing between the two logs was skipped.
  await writeLog(store, 1);
  await live.caughtUp();
  await expectRowsOfQuietRunners(store, live, projections);
});
