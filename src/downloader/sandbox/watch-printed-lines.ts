import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';

export interface OutputLimits {
  /** The child is killed when it prints more than this, on either stream. */
  maxOutputBytes: number;
  /** Takes each line of standard output, without its end. Lines beyond `maxLineBytes` are dropped. */
  onLine: (line: string) => void;
}

const maxLineBytes = 256 * 1024;
const keptStderrBytes = 64 * 1024;

/** Calls `onLine` for each line, dropping the rest of one that grows beyond `maxLineBytes`. */
function splitLines(onLine: (line: string) => void): { take(chunk: Buffer): void; end(): void } {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let tooLong = false;
  const finish = (line: string) => {
    if (!tooLong && line !== '') onLine(line);
    tooLong = false;
  };
  return {
    take(chunk) {
      const [first = '', ...others] = decoder.write(chunk).split('\n');
      rest += first;
      for (const next of others) {
        finish(rest);
        rest = next;
      }
      if (rest.length > maxLineBytes) {
        rest = '';
        tooLong = true;
      }
    },
    end: () => finish(rest),
  };
}

/** @param flooded called when the child prints more than it may. @returns a function that gives the end of standard error */
export function watchOutput(
  { maxOutputBytes, onLine }: OutputLimits,
  child: ChildProcess,
  flooded: () => void,
): () => string {
  let stderr = Buffer.alloc(0);
  let outputBytes = 0;
  const count = (chunk: Buffer) => {
    outputBytes += chunk.length;
    if (outputBytes > maxOutputBytes) flooded();
    return outputBytes <= maxOutputBytes;
  };
  const lines = splitLines(onLine);
  child.stdout?.on('data', (chunk: Buffer) => {
    if (count(chunk)) lines.take(chunk);
  });
  child.stdout?.on('end', () => lines.end());
  child.stderr?.on('data', (chunk: Buffer) => {
    if (count(chunk)) stderr = Buffer.concat([stderr, chunk]).subarray(-keptStderrBytes);
  });
  return () => stderr.toString('utf8');
}
