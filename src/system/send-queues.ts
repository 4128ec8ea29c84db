import { readFile } from 'node:fs/promises';

/** Linux's tables of all TCP connections of this network namespace. */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** Number, local and remote address and port, state, bytes to send and to receive: all but the first hexadecimal. */
const row = /^\s*\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) [\dA-F]{2} ([\dA-F]{8}):/gm;

/**
 * Reads the number of bytes in the kernel's send queues that the other side has not acknowledged. Connections with the same two
 * ports, but other addresses, are summed. Without these tables every number is undefined.
 */
export async function readSendQueues(): Promise<(localPort: number, remotePort: number) => number | undefined> {
  const queues = new Map<string, number>();
  const nameOf = (localPort: number, remotePort: number) => `${String(localPort)} ${String(remotePort)}`;
  for (const table of tables) {
    const text = await readFile(table, 'latin1').catch(() => '');
    for (const [, local = '', remote = '', queued = ''] of text.matchAll(row)) {
      const name = nameOf(parseInt(local, 16), parseInt(remote, 16));
      queues.set(name, (queues.get(name) ?? 0) + parseInt(queued, 16));
    }
  }
  return (localPort, remotePort) => queues.get(nameOf(localPort, remotePort));
}
