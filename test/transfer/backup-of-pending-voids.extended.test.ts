import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { createPendingVoids } from '../../src/adapters/postgres/pending-voids.ts';
import { within } from '../cli/command-line.ts';
import { ask, downloadOf, freshToken, openUsage, readUsage, writersOf } from '../commands/usage-account.ts';
import { chargeFor, promised, resolvingUnderTest } from '../dispatcher/resolving.ts';
import { createReadModels, silent, testMacs } from '../projections/read-models-under-test.ts';
import { openEventStore } from '../support/shared-event-stores.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { root } from '../tidy/source-files.ts';
import { postgresPrograms } from './postgres-programs.ts';

const execute = promisify(execFile);
const { log, parts, noting, appendOf, resolving, resolved, eventsIn } = resolvingUnderTest();

it('a pending void of deploy/backup.sh is resolved after the restore into an empty database, whenever it was open', async () => {
  const { pool } = parts.models;
  await setDatabase(pool, { datestyle: 'SQL, DMY', timezone: 'Asia/Kolkata' });
  const account = await openUsage(log.store, { downloads_limit: 0 });
  const { stream } = account;
  const charge = async () => {
    const token = freshToken();
    return { token, append: await appendOf(account, downloadOf(token), { isStored: true }) };
  };
  const pend = async () => {
    const { token, append } = await charge();
    await parts.pendingVoids.add(append, chargeFor(token));
    return token;
  };
  const has = (token: string) => `voids @> '[{"token":"${token}"}]'`;
  /** As by a void that is behind the end of the copied log. */
  const forget = async (token: string) => {
    const pending = await parts.pendingVoids.list(1_000);
    for (const { append, voids } of pending) {
      const resolved = voids.filter((charge) => charge.kind === 'download' && charge.token === token);
      if (resolved.length > 0) await parts.pendingVoids.remove({ append, voids: resolved });
    }
    expect((await pool.query(`select from pending_voids where ${has(token)}`)).rowCount).toBe(0);
  };

  const voidedBefore = await pend();
  const resolver = resolving();
  await resolved(stream);
  await resolver.stop();

  const [open, resolvedMeanwhile] = [await pend(), await pend()];
  // Two charges of one append: one of its two voids is resolved, and the other one added.
  const { store, appends } = noting(true);
  const writers = writersOf(store);
  const together = [freshToken(), freshToken(), freshToken()];
  await Promise.all(together.map((token) => ask(writers, account, downloadOf(token))));
  const append = appends.find(({ events }) => events.filter(({ data }) => data['token'] !== undefined).length > 1);
  const [first, second] = together.filter((token) => append?.events.some(({ data }) => data['token'] === token));
  if (!append || first === undefined || second === undefined) throw new Error('no append has two charges');
  await parts.pendingVoids.add(append, chargeFor(first));
  // Charges that are in the copied log; their clients are answered meanwhile.
  const late = [await charge(), await charge()] as const;

  const directory = temporaryDirectory();
  const copied = await backUp(directory, async () => {
    await forget(resolvedMeanwhile);
    await forget(first);
    await parts.pendingVoids.add(append, chargeFor(second));
    for (const each of late) await parts.pendingVoids.add(each.append, chargeFor(each.token));
    await forget(late[0].token);
  });

  await using models = await createReadModels();
  await setDatabase(models.pool, { datestyle: 'SQL, MDY', standard_conforming_strings: 'off' });
  const target = await openEventStore();
  const restored = connectEventStore({ url: target.url, logger: silent });
  onTestFinished(async () => {
    await restored.close();
    await target.stop();
  });
  const environment = environmentOf(target.url, models.url);
  expect(await within(environment)('log', 'import', join(copied, 'log.ndjson.gz'))).toMatchObject({ code: 0 });
  const restoreVoids = () =>
    execute('psql', ['--quiet', '--set=ON_ERROR_STOP=1', `--file=${join(copied, 'pending-voids.sql')}`], {
      env: postgresPrograms(directory, models.url),
    });
  await restoreVoids();
  await restoreVoids();
  const pendingVoids = createPendingVoids(models.pool, {
    storeOnStandby: models.storeOnStandby,
    macs: testMacs,
    now: () => promised.at,
    process: promised.process,
  });
  resolving(restored, pendingVoids);
  await waitFor(async () => (await pendingVoids.list(10)).length === 0, { what: 'the restored pending voids to end' });
  const events = (await readUsage(restored, stream)).map(({ event }) => event);
  const voided = events.flatMap(({ type, data }) => (type === 'DownloadVoided' ? [data.token] : []));
  expect(voided.sort()).toEqual(
    [voidedBefore, open, resolvedMeanwhile, first, second, ...late.map(({ token }) => token)].sort(),
  );
  expect(await eventsIn(stream)).toEqual(events.slice(0, (await eventsIn(stream)).length));
});

/** New sessions have these settings: neither the copy nor the restore may depend on what a database has set. */
async function setDatabase(pool: Pool, settings: Readonly<Record<string, string>>): Promise<void> {
  const { rows } = await pool.query<{ name: string }>('select current_database() as name');
  for (const [name, value] of Object.entries(settings))
    await pool.query(`alter database ${rows[0]!.name} set ${name} = ${value.includes(',') ? value : `'${value}'`}`);
}

const environmentOf = (eventStoreUrl: string, databaseUrl: string) => ({
  EVENTSTORE_URL: eventStoreUrl,
  DATABASE_URL: databaseUrl,
  NATS_URL: 'nats://127.0.0.1:9',
  REELTALLY_SECRET: 'a secret that is long enough for a test',
});

/** @param meanwhile done between the export of the log and the end of the backup. @returns the backup */
async function backUp(directory: string, meanwhile: () => Promise<void>): Promise<string> {
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  const [exported, goOn] = [join(directory, 'exported'), join(directory, 'go-on')];
  const npm = `#!/bin/sh
    PATH=$REAL_PATH npm "$@" || exit
    touch ${exported}
    while [ ! -e ${goOn} ]; do sleep 0.05; done
  `;
  writeFileSync(join(programs, 'npm'), npm, { mode: 0o755 });
  const postgres = postgresPrograms(directory, parts.models.url);
  const env = {
    ...environmentOf(log.url, parts.models.url),
    HOME: directory,
    ...postgres,
    REAL_PATH: postgres.PATH,
    PATH: `${programs}:${postgres.PATH}`,
  };
  const target = join(directory, 'backup');
  const done = execute(join(root, 'deploy/backup.sh'), [target], { cwd: directory, env });
  try {
    await Promise.race([done, waitFor(() => existsSync(exported), { what: 'the export of the log' })]);
    await meanwhile();
  } finally {
    writeFileSync(goOn, '');
  }
  await done;
  return target;
}
