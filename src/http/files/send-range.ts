import type { ServerResponse } from 'node:http';

/** The methods of Node's file handle that are used here. */
export interface OpenFile {
  stat(): Promise<{ size: number }>;
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  close(): Promise<void>;
}

export interface ByteRange {
  first: number;
  last: number;
}

/** Measured: as fast as larger ones, and a fifth faster than half of it. */
const bufferBytes = 128 * 1024;

/**
 * Writes a part of a file as the body of an answer. All of it passes through one buffer, which is filled anew once the kernel has
 * taken it: a client that reads slowly holds no more memory than that, where a stream would hold several chunks.
 *
 * @param ended aborted when the connection is gone, also where the answer still waits for its turn on it
 */
export async function sendRange(
  file: OpenFile,
  { first, last }: ByteRange,
  { response, ended }: { response: ServerResponse; ended: AbortSignal },
): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(bufferBytes, last + 1 - first));
  let go = (): void => undefined;
  ended.addEventListener('abort', () => {
    go();
  });
  const isOver = (): boolean => ended.aborted || response.destroyed;
  for (let at = first; at <= last && !isOver();) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, last + 1 - at), at);
    if (bytesRead === 0) throw new Error('the file is shorter than it was');
    at += bytesRead;
    await new Promise<void>((resolve) => {
      go = resolve;
      if (isOver()) resolve();
      else response.write(buffer.subarray(0, bytesRead), go);
    });
  }
  if (!isOver()) response.end();
}
