/**
 * Who may connect: the user that runs the server, and root. The client sends no password where there is no TLS, so the
 * kernel is asked for the other socket's user, before a byte of the connection is read.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { ServerCredentials } from '@grpc/grpc-js';
import type { Server } from '@grpc/grpc-js';

import { StartRefused } from './database.ts';
import { peerUser, readSocketTable } from './peer-user.ts';

export interface Listener {
  port: number;
  /** Takes no further connections; fulfilled when those that there are have ended. */
  close: () => Promise<void>;
}

/** @param host an address of loopback. @throws {StartRefused} when the port is taken, or nobody could be told from others */
export async function listen(server: Server, host: string, port: number): Promise<Listener> {
  const own = ownUser();
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const refuse = createRefusal(own);
  const listener = createServer((socket) => {
    const user = userOf(socket);
    if (user === own || user === 0) connections.injectConnection(socket);
    else refuse(socket, user);
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(new StartRefused(`Cannot listen on ${host}:${port}: ${error.message}`));
    listener.once('error', fail).listen(port, host.replaceAll(/[[\]]/g, ''), () => {
      listener.off('error', fail);
      resolve();
    });
  });
  // Too many open files, say: who is connected already is served on.
  listener.on('error', (error) => console.error(`event-store: a connection could not be taken: ${error.message}`));
  const { port: boundPort, address } = listener.address() as AddressInfo;
  await requireOwnConnection(boundPort, address);
  return { port: boundPort, close: () => new Promise((resolve) => listener.close(() => resolve())) };
}

/** What the kernel says of us is tried before anybody else comes. @throws {StartRefused} */
async function requireOwnConnection(port: number, address: string): Promise<void> {
  const socket = connect(port, address);
  const refused = once(socket, 'close').then(() => refusal('/proc/net does not name the user of our own connection'));
  // HTTP/2 begins with words of the server.
  const answered = once(socket, 'data').then(() => undefined);
  try {
    const why = await Promise.race([answered, refused]);
    if (why) throw why;
  } finally {
    socket.destroy();
  }
}

function userOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): number | undefined {
  // It is gone again.
  if (localAddress === undefined || localPort === undefined) return undefined;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  try {
    return peerUser({ localAddress, localPort, remoteAddress, remotePort });
  } catch {
    // No file can be opened at the moment, say.
    return undefined;
  }
}

/** Says it once for each user: whoever knocks on and on must not fill a disk. */
function createRefusal(own: number): (socket: Socket, user: number | undefined) => void {
  const told = new Set<number | undefined>();
  return (socket, user) => {
    socket.on('error', () => undefined).destroy();
    if (told.has(user)) return;
    told.add(user);
    const who = user === undefined ? 'that is closed already, or whose user is not known' : `of user ${String(user)}`;
    console.error(
      `event-store: refused a connection ${who}: only user ${String(own)}, who runs it, and root may connect.`,
    );
  };
}

const refusal = (why: string) =>
  new StartRefused(
    `Cannot tell which user of this machine connects: ${why}. ` +
      'Set EVENTSTORE_URL to the address of an EventStoreDB of your own instead.',
  );

/** @throws {StartRefused} where the kernel would not tell this user from others */
function ownUser(): number {
  const own = process.getuid?.();
  try {
    if (own === undefined) throw new Error('users have no numbers here');
    readSocketTable('tcp');
    if (own === overflowUser() && !allUsersAreMapped())
      throw new Error(`user ${String(own)} stands for all others, too`);
  } catch (error) {
    throw refusal(error instanceof Error ? error.message : String(error));
  }
  return own;
}

/** The number under which users are shown who have none in this user namespace. */
const overflowUser = () => Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));

const allUsersAreMapped = () => /^ *0 +\d+ +4294967295$/m.test(readFileSync('/proc/self/uid_map', 'utf8'));
