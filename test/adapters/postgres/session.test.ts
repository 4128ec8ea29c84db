import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { requireOwnSessions, sessionSettings } from '../../../src/adapters/postgres/session.ts';
import { createBadlySetDatabase } from '../../support/badly-set-database.ts';
import { openPatientPool } from '../../support/patient-pool.ts';
import { createDatabase } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';
import { root } from '../../tidy/source-files.ts';

async function openBadlySet(settings?: Readonly<Record<string, string>>) {
  const database = await createBadlySetDatabase(settings);
  const pool = openPatientPool(database.url, { max: 1 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  return pool;
}

it('a session has the settings that it states, whatever its role and database have', async () => {
  const pool = await openBadlySet();
  const { rows } = await pool.query<{ name: string; value: string }>(
    `select name, current_setting(name, true) as value from unnest($1::text[]) name`,
    [Object.keys(sessionSettings)],
  );
  const stated = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  expect(stated).toEqual({ ...sessionSettings });
});

it('the decision about settings names each one that a client may change', async () => {
  const pool = await openBadlySet({});
  const { rows } = await pool.query<{ name: string }>(
    `select name from pg_settings where context in ('user', 'superuser')`,
  );
  const decision = readFileSync(join(root, 'docs/decisions/0055-every-session-states-its-settings.md'), 'utf8');
  const named = [...decision.matchAll(/`([\w*]+)`/g)].map(([, name = '']) => name.replaceAll('*', '\\w+'));
  const isNamed = new RegExp(`^(?:${named.join('|')})$`);
  expect(rows.map(({ name }) => name).filter((name) => !isNamed.test(name))).toEqual([]);
  expect(Object.keys(sessionSettings).filter((name) => !isNamed.test(name))).toEqual([]);
});

it('a server that takes no changes is refused with the reason', async () => {
  const pool = await openBadlySet({ default_transaction_read_only: 'on' });
  await expect(pool.query('select 1')).rejects.toThrow('it takes no changes: default_transaction_read_only is on');
});

it('a trial of sessions that gets no second connection gives back the first one', async () => {
  const database = await createDatabase();
  const pool = openPatientPool(database.url, { max: 1, connectionTimeoutMs: 200 });
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  // Opened before: on a busy machine that alone may take longer than the limit, and then it is tried again.
  const isOpen = () => pool.query('select').then(Boolean, () => false);
  await waitFor(isOpen, { what: 'the first connection of the pool' });
  await expect(requireOwnSessions(pool)).rejects.toThrow('timeout exceeded when trying to connect');
  expect(pool.idleCount).toBe(1);
});

it('a trial of sessions asks a server once that refuses it, whatever the reason is called', async () => {
  await using database = await createDatabase();
  await using stack = new AsyncDisposableStack();
  const pool = openPatientPool(`${database.url}?options=-c%20unknown_timeout%3D1`, { max: 3 });
  stack.defer(() => pool.end());
  const attempts = vi.spyOn(pool, 'connect');
  await expect(requireOwnSessions(pool)).rejects.toThrow('unknown_timeout');
  expect(attempts).toHaveBeenCalledTimes(1);
});
