/** How connections leave this machine: directly or through an operator's proxy, and from which of its addresses. */

import { addAbortListener, once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect as connectSocket, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';

export interface OutgoingProxy {
  /** A name, which the system resolves, or an address. It may be private: the operator names it. */
  host: string;
  port: number;
  /** The value of `Proxy-Authorization`. A secret. */
  authorization?: string | undefined;
}

/** Without either, connections are direct, from the address that the system chooses. */
export interface OutgoingRoute {
  proxy?: OutgoingProxy | undefined;
  /** The address of this machine that connections come from; only addresses of its family are reached directly. */
  sourceAddress?: string | undefined;
}

/** The operator's route cannot be used. Neither the platform nor the video is at fault. The message holds no credentials. */
export class OutgoingRouteFailed extends Error {
  override readonly name = 'OutgoingRouteFailed';
}

const maxHeaderBytes = 16 * 1024;
/** By these a proxy says that it did not reach the destination; every other refusal is about the proxy's own user or rules. */
const destinationFailures: readonly (number | undefined)[] = [502, 503, 504];

/**
 * Connects to an address that the egress guard has checked. A proxy is given this address and no name, so that it resolves
 * nothing and reaches nothing that the guard refuses.
 *
 * @throws {OutgoingRouteFailed} if the proxy or the source address cannot be used; any other error if the address does not answer
 */
export async function dial(
  address: string,
  port: number,
  signal: AbortSignal,
  { proxy, sourceAddress }: OutgoingRoute = {},
): Promise<Socket> {
  const from = sourceAddress === undefined ? {} : { localAddress: sourceAddress, family: isIP(sourceAddress) };
  if (proxy === undefined) return await dialTcp({ host: address, port, ...from }, signal).catch(explainSource);
  const socket = await dialTcp({ host: proxy.host, port: proxy.port, ...from }, signal).catch((error: unknown) => {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'it does not answer';
    throw new OutgoingRouteFailed(`The outgoing proxy cannot be reached: ${why}.`);
  });
  try {
    return await openTunnel(socket, { host: isIP(address) === 6 ? `[${address}]` : address, port }, proxy, signal);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** This machine may have lost the address since the settings were read. */
function explainSource(error: unknown): never {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'bind' || code === 'EADDRNOTAVAIL')
    throw new OutgoingRouteFailed(`No connection can come from the source address: ${String(code)}.`);
  throw error;
}

async function dialTcp(to: TcpNetConnectOpts, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connectSocket({ ...to, allowHalfOpen: true, noDelay: true });
  const connected = Promise.withResolvers<Socket>();
  socket.once('connect', () => connected.resolve(socket));
  // It stays: an error that comes before the next owner listens must not end the process.
  socket.once('error', connected.reject);
  // Whoever destroys it may give no error.
  socket.once('close', () => connected.reject(new Error('The connection was closed.')));
  using _givingUp = addAbortListener(signal, () => socket.destroy(new Error('The connection took too long.')));
  return await connected.promise;
}

async function openTunnel(
  socket: Socket,
  { host, port }: { host: string; port: number },
  { authorization }: OutgoingProxy,
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${host}:${String(port)}`;
  const asking = request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(authorization !== undefined && { 'proxy-authorization': authorization }) },
    createConnection: () => socket,
    maxHeaderSize: maxHeaderBytes,
  });
  // Not the option of `request`, which would end the tunnel too, long after it is open.
  using _givingUp = addAbortListener(signal, () => socket.destroy(new Error('The tunnel took too long.')));
  asking.end();
  const [answer, , head] = (await once(asking, 'connect')) as [IncomingMessage, Socket, Buffer];
  const { statusCode } = answer;
  if (statusCode !== undefined && statusCode >= 200 && statusCode < 300) {
    if (head.length > 0) socket.unshift(head);
    return socket;
  }
  const refusal = `The outgoing proxy answered ${String(statusCode)}.`;
  throw destinationFailures.includes(statusCode) ? new Error(refusal) : new OutgoingRouteFailed(refusal);
}
