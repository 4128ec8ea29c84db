/**
 * Finds the user at the other end of a loopback connection where there is no /proc (macOS), by the program `lsof`.
 *
 * It shows a plain user the sockets of that user's own processes alone. So a connection of anybody else, root included, is not
 * found, and is refused. Sockets in line, not accepted yet, belong to no process and are not shown either.
 */

import { spawnSync } from 'node:child_process';
import type { Connection } from './peer-user.ts';

const program = '/usr/sbin/lsof';
const limitMs = 5_000;

type ListSockets = (port: number) => string;

/** The established connections of a port, a field a line: `p` process, `u` its user, `f` descriptor, `n` both ends. */
const listSockets: ListSockets = (port) => {
  const words = ['-nPw', `-iTCP@127.0.0.1:${port}`, '-sTCP:ESTABLISHED', '-F', 'pun'];
  // Its exit code tells less than its output: it is 1 as well where a single line could not be had.
  return spawnSync(program, words, { encoding: 'latin1', timeout: limitMs, env: {} }).stdout;
};

/**
 * Must be called before the next connection is accepted, as for `peerUser`.
 *
 * @returns undefined if no process of ours has the one end, or none that can be seen has the other
 */
export function peerUserOfLsof(
  { localAddress, localPort, remoteAddress, remotePort }: Connection,
  list: ListSockets = listSockets,
): number | undefined {
  const [ours, theirs] = [`${localAddress}:${localPort}`, `${remoteAddress}:${remotePort}`];
  let [pid, user] = [0, 0];
  let isOurs = false;
  const users = new Set<number>();
  for (const line of list(localPort).split('\n')) {
    const [field, value] = [line.slice(0, 1), line.slice(1)];
    if (field === 'p') pid = Number(value);
    if (field === 'u') user = Number(value);
    if (field !== 'n') continue;
    if (value === `${ours}->${theirs}` && pid === process.pid) isOurs = true;
    if (value === `${theirs}->${ours}`) users.add(user);
  }
  const [found] = users;
  return isOurs && users.size === 1 ? found : undefined;
}
