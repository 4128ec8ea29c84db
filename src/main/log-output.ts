import type { DestinationStream } from 'pino';
import { withDeadline } from '../async/deadline.ts';

/** Where log lines go. What nobody reads is kept up to a bound; what is beyond is lost and counted. No line holds up a request. */
export interface LogOutput extends DestinationStream {
  /** Lines that were lost so far. */
  readonly lost: number;
}

/** Standard output or standard error. */
type Output = Pick<NodeJS.WriteStream, 'write' | 'on' | 'removeAllListeners' | 'writableLength'>;

const maxWaitingBytes = 1024 * 1024;

/**
 * Lines for a service's standard error. Node hands pipes and sockets only what their reader takes, and would keep the rest without a
 * bound. A service goes on when its log has no reader any more.
 *
 * @param readAgain told the number of lines that were lost since the last time, once the reader has taken all that waited
 */
export function createLogOutput(output: Output, readAgain: (lines: number) => void): LogOutput {
  let [lost, told] = [0, 0];
  output.removeAllListeners('error').on('error', () => undefined);
  output.on('drain', () => {
    const lines = lost - told;
    told = lost;
    if (lines > 0) readAgain(lines);
  });
  return {
    get lost() {
      return lost;
    },
    write: (line) => {
      if (output.writableLength + line.length > maxWaitingBytes) lost += 1;
      else
        output.write(line, (error) => {
          if (error) lost += 1;
        });
    },
  };
}

/** A private member of Node's terminals. */
interface Terminal {
  isTTY?: boolean;
  _handle?: { setBlocking?: (isBlocking: boolean) => void };
}

/** Node waits for a terminal, and so would a service on one that was stopped by Ctrl-S, or that nobody reads. */
export function doNotWaitFor(output: NodeJS.WriteStream): void {
  const { isTTY, _handle: handle } = output as Terminal;
  if (isTTY) handle?.setBlocking?.(false);
}

/** Waits until the reader has taken what was written, but no longer than this: the rest is lost with the process. */
export async function handOver(output: Output, limitMs: number): Promise<void> {
  const taken = new Promise<void>((resolve) => {
    output.write('', () => {
      resolve();
    });
  });
  await withDeadline(taken, limitMs, () => undefined);
}
