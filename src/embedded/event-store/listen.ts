/**
 * Accepts connections on loopback only, from root and from the user that runs the server. Without TLS the client sends no
 * password, so the kernel is asked for the user of the other socket, before a byte of the connection is read.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { StartRefused } from './database.ts';
import { peerUser, readSocketTable } from './peer-user.ts';
import { peerUserOfLsof } from './peer-user-of-lsof.ts';

export const HOST = '127.0.0.1';

/** Without a /proc. */
const isMac = process.platform === 'darwin';

export type Listener = Awaited<ReturnType<typeof listen>>;

/** @throws {StartRefused} when the port is taken, or the kernel does not tell users apart */
export async function listen(server: Server, port: number) {
  const own = ownUser();
  const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
  const refuse = createRefusal(own);
  const listener = createServer((socket) => {
    const user = userOf(socket);
    if (user === own || user === 0) connections.injectConnection(socket);
    else refuse(socket, user);
  });
  await once(listener.listen(port, HOST), 'listening').catch((error: unknown) => {
    throw new StartRefused(`Cannot listen on ${HOST}:${port}: ${(error as Error).message}`);
  });
  // For example too many open files: clients that are connected are still served.
  listener.on('error', (error) => console.error(`event-store: a connection could not be taken: ${error.message}`));
  const { port: boundPort } = listener.address() as AddressInfo;
  await requireOwnConnection(boundPort);
  return {
    port: boundPort,
    /** Accepts no further connections; fulfilled when the open ones have ended. */
    close: () => new Promise<void>((resolve) => listener.close(() => resolve())),
  };
}

/** Tries a connection of our own before any client connects. @throws {StartRefused} */
async function requireOwnConnection(port: number): Promise<void> {
  const socket = connect(port, HOST);
  const refused = once(socket, 'close').then(() =>
    refusal(`${isMac ? 'lsof' : '/proc/net'} does not name the user of our own connection`),
  );
  // In HTTP/2 the server sends first.
  const answered = once(socket, 'data').then(() => undefined);
  try {
    const why = await Promise.race([answered, refused]);
    if (why) throw why;
  } finally {
    socket.destroy();
  }
}

function userOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): number | undefined {
  // The client has disconnected.
  if (localAddress === undefined || localPort === undefined) return undefined;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  try {
    return (isMac ? peerUserOfLsof : peerUser)({ localAddress, localPort, remoteAddress, remotePort });
  } catch {
    // For example, no file can be opened at the moment.
    return undefined;
  }
}

/** Logs a refusal once for each user, so that repeated attempts cannot fill the disk. */
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

/** @throws {StartRefused} when the kernel does not tell this user from others */
function ownUser(): number {
  const own = process.getuid?.();
  try {
    if (own === undefined) throw new Error('users have no numbers here');
    if (isMac) return own;
    readSocketTable('tcp');
    if (own === overflowUser() && !allUsersAreMapped())
      throw new Error(`user ${String(own)} stands for all others, too`);
  } catch (error) {
    throw refusal(error instanceof Error ? error.message : String(error));
  }
  return own;
}

/** The id that the kernel shows for users without an id in this user namespace. */
const overflowUser = () => Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));

const allUsersAreMapped = () => /^ *0 +\d+ +4294967295$/m.test(readFileSync('/proc/self/uid_map', 'utf8'));
