import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../src/embedded/free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { waitFor } from './wait-for.ts';

/** The program is Debian's package `pgbouncer`. */
export const isWithoutPgbouncer = spawnSync('pgbouncer', ['--version']).status !== 0;

export interface Pgbouncer extends AsyncDisposable {
  /** The given address, through the pooler. */
  url: string;
}

/** @param settings lines of pgbouncer.ini, as docs/operations.md has them */
export async function startPgbouncer(target: string, settings: readonly string[]): Promise<Pgbouncer> {
  const directory = temporaryDirectory();
  const url = new URL(target);
  const port = await freePort();
  const [file, users] = [join(directory, 'pgbouncer.ini'), join(directory, 'userlist.txt')];
  writeFileSync(users, `"${decodeURIComponent(url.username)}" "${decodeURIComponent(url.password)}"\n`);
  const lines = [
    ...['[databases]', `* = host=${url.hostname} port=${url.port}`, '[pgbouncer]', 'auth_type = scram-sha-256'],
    ...[
      `auth_file = ${users}`,
      'listen_addr = 127.0.0.1',
      `listen_port = ${String(port)}`,
      'unix_socket_dir =',
      ...settings,
    ],
  ];
  writeFileSync(file, lines.join('\n'));
  // It does not run as root, and its user must reach the files.
  for (const path of [directory, file, users]) chmodSync(path, 0o755);
  const user = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  const child = spawn('pgbouncer', [...user, file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await waitFor(() => accepts(port), { what: 'PgBouncer' });
  url.port = String(port);
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
