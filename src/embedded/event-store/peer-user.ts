/**
 * Finds the user at the other end of a loopback connection in /proc/net/tcp and tcp6.
 *
 * Both ends of such a connection are sockets of this machine with a line of their own. A line counts only while it is
 * ESTABLISHED and has an inode, because a closed socket is shown as owned by root.
 */

import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';

/** A connection, seen from its accepting end. */
export interface Connection {
  localAddress: string;
  localPort: number;
  remoteAddress: string;
  remotePort: number;
}

/** IPv4 connections that were opened through a socket of IPv6 are in the second table. */
const tableNames = ['tcp', 'tcp6'] as const;
type TableName = (typeof tableNames)[number];
type ReadTable = (name: TableName) => string;

/** A table of this process's network namespace, to which its listening socket belongs. tcp6 is missing without IPv6. */
export const readSocketTable: ReadTable = (name) => {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'latin1');
  } catch (error) {
    if (name === 'tcp6' && (error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
};

/** A table is read in pieces, so a socket that is opened or closed meanwhile can hide the line of another. */
const mostReadings = 3;

/**
 * Must be called before the next connection is accepted: until then, a later connection over the same two ports has no inode at
 * our end, and cannot be mistaken for this one.
 *
 * @returns undefined if the tables do not show the connection
 */
export function peerUser(connection: Connection, readTable: ReadTable = readSocketTable): number | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = connection;
  for (let reading = 0; reading < mostReadings; reading += 1) {
    const users = { ours: new Set<number>(), theirs: new Set<number>() };
    for (const name of tableNames) {
      const ours = endpoint(name, localAddress, localPort);
      const theirs = endpoint(name, remoteAddress, remotePort);
      if (ours === undefined || theirs === undefined) continue;
      const table = readTable(name);
      for (const user of usersBetween(ours, theirs, table)) users.ours.add(user);
      for (const user of usersBetween(theirs, ours, table)) users.theirs.add(user);
      // Each table takes milliseconds, and an end is in one of them only: most often both ends are in the first.
      const [user] = users.theirs;
      if (users.ours.size === 1 && users.theirs.size === 1) return user;
    }
  }
  return undefined;
}

/** The fields of a line behind the two endpoints: state 01 (ESTABLISHED), queues, timer, retransmits, uid, timeout, inode. */
const heldLine = / 01 [0-9A-F:]+ [0-9A-F:]+ [0-9A-F]+ +(\d+) +\d+ ([1-9]\d*) /y;

function usersBetween(from: string, to: string, table: string): number[] {
  const ends = `: ${from} ${to}`;
  const users: number[] = [];
  for (let at = table.indexOf(ends); at !== -1; at = table.indexOf(ends, at + 1)) {
    heldLine.lastIndex = at + ends.length;
    const uid = heldLine.exec(table)?.[1];
    if (uid !== undefined) users.push(Number(uid));
  }
  return users;
}

/** An IPv4 loopback address as the tables write it: words of 32 bits, each in the byte order of the machine. */
function endpoint(table: TableName, address: string, port: number): string | undefined {
  const ipv4 = address.replace(/^::ffff:/i, '');
  if (!isIPv4(ipv4) || !ipv4.startsWith('127.')) return undefined;
  const mapped = table === 'tcp6' ? [...Array<number>(10).fill(0), 0xff, 0xff] : [];
  const words = [...new Uint32Array(Uint8Array.from([...mapped, ...ipv4.split('.').map(Number)]).buffer)];
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0');
  return `${words.map((word) => hex(word, 8)).join('')}:${hex(port, 4)}`;
}
