import { connect } from 'node:net';

interface ReadOptions {
  /** What the answer must be. */
  content: Buffer;
  /** Compares each byte, instead of only counting them. */
  compares: boolean;
}

const endOfHead = '\r\n\r\n';
/** Shared by all connections: a chunk is done with before the next one arrives. */
const buffer = Buffer.allocUnsafe(256 * 1024);

/**
 * Reads a file over a connection of its own, with little work, because readers share the processors with the server.
 *
 * @throws unless the answer is the whole file and nothing else
 */
export function readFile(url: string, { content, compares }: ReadOptions): Promise<undefined> {
  const { hostname, port, pathname, search } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let head = '';
  let receivedBytes = 0;
  const receive = (body: Buffer): void => {
    const expected = compares && content.subarray(receivedBytes, receivedBytes + body.length);
    if (expected && !body.equals(expected)) socket.destroy(new Error(`other bytes than the file's`));
    receivedBytes += body.length;
  };
  const callback = (length: number): boolean => {
    const chunk = buffer.subarray(0, length);
    if (head.endsWith(endOfHead)) receive(chunk);
    else {
      const text = head + chunk.toString('latin1');
      const end = text.indexOf(endOfHead);
      head = end < 0 ? text : text.slice(0, end + endOfHead.length);
      if (end >= 0) receive(chunk.subarray(length - (text.length - head.length)));
    }
    return true;
  };
  const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } });
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
  socket.on('error', reject);
  socket.on('close', () => {
    if (head.startsWith('HTTP/1.1 200 ') && receivedBytes === content.length) resolve(undefined);
    else reject(new Error(`${url} gave ${receivedBytes} of ${content.length} bytes, after ${head}`));
  });
  return promise;
}
