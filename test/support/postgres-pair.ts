import { execFileSync } from 'node:child_process';
import { chownSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../src/embedded/free-port.ts';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';
import { preparePostgresProgram } from '../../src/embedded/postgres/program.ts';
import { startServerProcess } from '../../src/embedded/server-process.ts';
import { sharedDirectory } from '../../src/system/access-of-other-users.ts';
import { sendSignal } from '../../src/system/processes.ts';
import { migrateDatabase, withClient } from './postgres.ts';
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';
import { waitFor } from './wait-for.ts';

/** A migrated Postgres and its standby, set up as in the profile `cluster` of deploy/compose.yaml, for a user without special rights. */
export interface PostgresPair extends AsyncDisposable {
  primaryUrl: string;
  standbyUrl: string;
  /** The standby follows the primary through it. */
  between: PostgresProxy;
  /** Waits until the standby has all that the primary has written. */
  isFollowed: () => Promise<void>;
  /** Kills the primary, cuts the standby off from it, and promotes the standby. */
  failOver: () => Promise<void>;
}

const makeService = `create role service login password 'service'; grant all on all tables in schema public to service`;
const asService = (url: string) => Object.assign(new URL(url), { username: 'service', password: 'service' }).href;

const waiting = { synchronous_standby_names: 'standby', synchronous_commit: 'local' };

export async function startPostgresPair(): Promise<PostgresPair> {
  await using undo = new AsyncDisposableStack();
  const directory = makeTemporaryDirectory();
  undo.defer(() => rmSync(directory, { recursive: true, force: true }));
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  const unready = await launchPostgres({ dataDirectory: first });
  await migrateDatabase(unready.url);
  await withClient(unready.url, (client) => client.query(makeService));
  await unready.stop();
  // Its files belong to the user of the server.
  execFileSync('cp', ['-a', first, second]);
  const primary = await launchPostgres({ dataDirectory: first, settings: waiting });
  undo.defer(async () => {
    await primary.stop();
  });
  const between = undo.use(await startPostgresProxy(primary.url));
  const standbyUrl = new URL(primary.url);
  standbyUrl.port = String(await freePort());
  const standby = await startStandby(second, { primaryUrl: between.url, port: standbyUrl.port });
  undo.defer(async () => {
    await standby.stop();
  });
  const isFollowed = () => waitForStandby(primary.url);
  await isFollowed();
  const made = undo.move();
  return {
    primaryUrl: asService(primary.url),
    standbyUrl: asService(standbyUrl.href),
    between,
    isFollowed,
    failOver: async () => {
      sendSignal(primary.pid, 'SIGKILL');
      between.setAway(true);
      await primary.exited;
      await withClient(standbyUrl.href, (client) => client.query('select pg_promote()'));
    },
    [Symbol.asyncDispose]: () => made.disposeAsync(),
  };
}

async function startStandby(dataDirectory: string, { primaryUrl, port }: { primaryUrl: string; port: string }) {
  const database = join(dataDirectory, 'database');
  const { uid, gid } = statSync(database);
  const signal = join(database, 'standby.signal');
  writeFileSync(signal, '');
  chownSync(signal, uid, gid);
  const isOtherUser = uid !== process.getuid?.();
  const program = preparePostgresProgram({
    forOtherUser: isOtherUser,
    copyTo: isOtherUser ? sharedDirectory : dataDirectory,
  });
  const settings = {
    ...waiting,
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    primary_conninfo: `${primaryUrl}?application_name=standby&sslmode=disable&gssencmode=disable`,
    wal_retrieve_retry_interval: '50ms',
  };
  return await startServerProcess(
    {
      command: program.postgres,
      args: [
        '-D',
        isOtherUser ? '/proc/self/cwd' : database,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      workingDirectory: database,
      environment: { PATH: '/usr/bin:/bin', LANG: 'C' },
      ...(isOtherUser && { user: { uid, gid } }),
      stopSignal: 'SIGINT',
      stopLimitMs: 20_000,
    },
    join(dataDirectory, 'postgres.log'),
  );
}

const waitForStandby = (primaryUrl: string) =>
  withClient(primaryUrl, async (client) => {
    const follows = async () => {
      const { rowCount } = await client.query(
        "select from pg_stat_replication where sync_state = 'sync' and flush_lsn >= pg_current_wal_lsn()",
      );
      return rowCount === 1;
    };
    await waitFor(follows, { what: 'the standby to follow' });
  });
