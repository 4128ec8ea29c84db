import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchPostgres, type PostgresOptions } from '../../src/embedded/postgres/launch.ts';
import { inMemoryIfPossible } from '../support/memory-folder.ts';
import { createDatabase } from '../support/postgres.ts';
import { temporaryDirectory, temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  expectPortTaken,
  isAlive,
  killWithReaper,
  parentPid,
  startOwner,
  untilTestEnds,
  waitUntilGone,
} from './owned.ts';

const launch = (dataDirectory: string, options: Partial<PostgresOptions> = {}) =>
  untilTestEnds(launchPostgres({ dataDirectory, ...options }));

const template = temporaryDirectoryOfFile(inMemoryIfPossible());
beforeAll(async () => {
  await (await launchPostgres({ dataDirectory: template })).stop();
});

/** As an earlier start leaves it, for tests that are not about the first: that takes a second of processor time. */
function usedDirectory(): string {
  const directory = join(temporaryDirectory(inMemoryIfPossible()), 'used');
  // With the owner of each file.
  execFileSync('cp', ['-a', template, directory]);
  return directory;
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

describe('an embedded Postgres', () => {
  it('is UTF-8, durable and reachable on loopback only, and keeps its data from one start to the next', async () => {
    const directory = temporaryDirectory();
    const sentences: string[] = [];
    const first = await launch(directory, { onProgress: (sentence) => sentences.push(sentence) });
    expect(sentences).toEqual(['Making a new Postgres database.', 'Starting Postgres.']);
    expect(
      await query(
        first.url,
        `select name, setting from pg_settings where name in ('server_encoding', 'listen_addresses',
         'unix_socket_directories', 'fsync', 'synchronous_commit', 'max_connections', 'TimeZone') order by lower(name)`,
      ),
    ).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'listen_addresses', setting: '127.0.0.1' },
      { name: 'max_connections', setting: '100' },
      { name: 'server_encoding', setting: 'UTF8' },
      { name: 'synchronous_commit', setting: 'on' },
      { name: 'TimeZone', setting: 'UTC' },
      { name: 'unix_socket_directories', setting: '' },
    ]);
    await query(first.url, `create table kept as select 'größe 値' as text`);
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(isAlive(first.pid)).toBe(false);

    const second = await launch(directory);
    expect(await query(second.url, 'select text from kept')).toEqual([{ text: 'größe 値' }]);
  });

  it('asks for a password that only this user can read', async () => {
    const directory = usedDirectory();
    const server = await launch(directory);
    expect(statSync(join(directory, 'password')).mode & 0o777).toBe(0o600);
    const url = new URL(server.url);
    expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain(url.password);
    url.password = 'wrong';
    await expect(query(url.href, 'select 1')).rejects.toThrow('password authentication failed');
  });

  it('runs as another user when this one is root, also where that user cannot pass the folders above', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root meets this');
    const home = temporaryDirectory();
    expect(statSync(home).mode & 0o777).toBe(0o700);
    const directory = join(home, 'project', 'data');
    const server = await launch(directory);
    expect(statSync(`/proc/${server.pid}`).uid).toBe(65534);
    expect(statSync(join(directory, 'database')).uid).toBe(65534);
    await query(server.url, 'create table written as select 1; select pg_reload_conf(); checkpoint');
  });

  it.each([
    ['no locale at all', {}],
    ['a locale that is not installed', { LC_ALL: 'en_US.UTF-8', LANG: 'xx_XX' }],
    ['variables meant for another Postgres', { LC_ALL: 'C', PGDATA: '/nowhere', PGPORT: '1', PGHOST: 'nowhere' }],
  ])('starts with %s in the environment', async (_name, environment) => {
    const { url } = await startOwner('postgres', temporaryDirectory(), environment).ready;
    expect(await query(url, 'show server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  });

  it('says that the port is taken', async () => {
    await expectPortTaken((port) => launchPostgres({ dataDirectory: temporaryDirectory(), port }));
  });

  it('leaves a running server alone, and names the process that owns it', async () => {
    const directory = usedDirectory();
    const server = await launch(directory);
    await expect(launchPostgres({ dataDirectory: directory })).rejects.toThrow(`in use: process ${process.pid}`);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('refuses a database of another version', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'database'));
    writeFileSync(join(directory, 'database', 'PG_VERSION'), '9\n');
    await expect(launchPostgres({ dataDirectory: directory })).rejects.toThrow('was made by Postgres 9');
  });

  it('quotes its log when it cannot start', async () => {
    const settings = { shared_buffers: 'nonsense' };
    await expect(launchPostgres({ dataDirectory: usedDirectory(), settings })).rejects.toThrow('shared_buffers');
  });
});

describe('an embedded Postgres whose owner is killed', () => {
  it('ends with it', async () => {
    const owner = startOwner('postgres', usedDirectory());
    const server = await owner.ready;
    const reaper = parentPid(server.pid);
    expect(isAlive(server.pid)).toBe(true);
    await owner.kill();
    await waitUntilGone(server.pid);
    await waitUntilGone(reaper);
  });

  it('starts again at once, while the earlier one may still be ending', async () => {
    const directory = usedDirectory();
    const owner = startOwner('postgres', directory);
    await query((await owner.ready).url, 'create table kept as select 1 as one');
    await owner.kill();
    const server = await launch(directory);
    expect(await query(server.url, 'select one from kept')).toEqual([{ one: 1 }]);
  });

  it('starts again when everything was killed', async () => {
    const directory = usedDirectory();
    const owner = startOwner('postgres', directory);
    const killed = await owner.ready;
    await query(killed.url, 'create table kept as select 1 as one');
    const reaper = parentPid(killed.pid);
    process.kill(reaper, 'SIGSTOP');
    await owner.kill();
    process.kill(killed.pid, 'SIGKILL');
    process.kill(reaper, 'SIGKILL');
    await waitUntilGone(killed.pid);
    expect(existsSync(join(directory, 'database', 'postmaster.pid'))).toBe(true);
    const server = await launch(directory);
    expect(await query(server.url, 'select one from kept')).toEqual([{ one: 1 }]);
  });

  it('is ended by the next start when its reaper was killed too', async () => {
    const directory = usedDirectory();
    const owner = startOwner('postgres', directory);
    const left = await owner.ready;
    await query(left.url, 'create table kept as select 1 as one');
    await killWithReaper(owner, left.pid);
    expect(isAlive(left.pid)).toBe(true);
    const server = await launch(directory);
    expect(isAlive(left.pid)).toBe(false);
    expect(await query(server.url, 'select one from kept')).toEqual([{ one: 1 }]);
  });

  it('does not take another process for the server because of its number', async () => {
    const directory = usedDirectory();
    await (await launch(directory)).stop();
    const lines = [process.pid, directory, 1, 5432, '', '127.0.0.1', '1 1', 'ready', ''];
    writeFileSync(join(directory, 'database', 'postmaster.pid'), lines.join('\n'));
    const server = await launch(directory);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('makes its database anew when the first start was interrupted', async () => {
    const directory = temporaryDirectory();
    const owner = startOwner('postgres', directory);
    await waitFor(() => existsSync(join(directory, 'initialising', 'database', 'base')), { what: 'initdb is at work' });
    await owner.kill();
    expect(existsSync(join(directory, 'database'))).toBe(false);
    const server = await launch(directory);
    expect(existsSync(join(directory, 'initialising'))).toBe(false);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('is ended when only its reaper was killed', async () => {
    const server = await launch(usedDirectory());
    process.kill(parentPid(server.pid), 'SIGKILL');
    expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await waitUntilGone(server.pid);
  });
});

describe('the Postgres of the test run', () => {
  it('gives every caller a database of its own', async () => {
    await using first = await createDatabase();
    await using second = await createDatabase();
    await query(first.url, 'create table here as select 1');
    await expect(query(second.url, 'select * from here')).rejects.toThrow('does not exist');
  });
});
