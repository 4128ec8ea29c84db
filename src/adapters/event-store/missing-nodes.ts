import { connect } from 'node:net';
import { accessBy } from './address.ts';

/**
 * Counts the nodes that accept no connection, of those that the address names. An address with one host says nothing of a
 * cluster: 0, also where the host is away.
 *
 * @param address one that was read before
 */
export async function countMissingNodes(address: string, timeoutMs: number): Promise<number> {
  const { hosts } = accessBy(address);
  if (hosts.length === 1) return 0;
  const accepting = await Promise.all(hosts.map((host) => acceptsConnections(host, timeoutMs)));
  return accepting.filter((accepts) => !accepts).length;
}

/** Connects, and closes the connection at once, before TLS. @returns whether it was accepted within the time */
function acceptsConnections(at: { host: string; port: number }, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isAccepted: boolean) => () => {
      socket.destroy();
      resolve(isAccepted);
    };
    const socket = connect({ ...at, timeout: timeoutMs })
      .once('connect', end(true))
      .once('timeout', end(false))
      .once('error', end(false));
  });
}
