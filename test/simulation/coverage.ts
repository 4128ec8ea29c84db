import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/** Which characters of the source files have run, by path: 0 stands for those in a function that have not. */
export type Coverage = Map<string, Uint8Array>;

const [ran, missed, outside] = [1, 0, 2];

/**
 * Measures this thread from now on: call it before the service is loaded.
 *
 * @returns gives what has run so far. Types are blanks to Node, so its positions are those of the source
 */
export async function startCoverage(): Promise<() => Promise<Coverage>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const coverage: Coverage = new Map();
    for (const { url, functions } of result) {
      const path = /\/((?:src|projections)\/.*)$/.exec(url)?.[1];
      if (path === undefined) continue;
      const [file, ...inside] = functions;
      const characters = new Uint8Array(file?.ranges[0]?.endOffset ?? 0).fill(outside);
      for (const { ranges } of inside)
        for (const { count, startOffset, endOffset } of ranges)
          characters.fill(count > 0 ? ran : missed, startOffset, endOffset);
      coverage.set(path, characters);
    }
    return coverage;
  };
}

/** Adds what another thread has run. */
export function addCoverage(sum: Coverage, other: Coverage): void {
  for (const [path, characters] of other) {
    const known = sum.get(path);
    if (known) for (const [at, value] of characters.entries()) known[at] = Math.max(known[at] ?? 0, value);
    else sum.set(path, characters);
  }
}

export interface Unreached {
  path: string;
  line: number;
  /** The source that has not run, in one line. */
  text: string;
}

/** @returns lines in functions that have run, of all such lines, and each branch that has not */
export function readCoverage(coverage: Coverage, isCounted: (path: string) => boolean) {
  const found = { ran: 0, lines: 0, unreached: [] as Unreached[] };
  for (const [path, characters] of coverage) {
    if (!isCounted(path)) continue;
    const source = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    for (const { index, 0: text } of source.matchAll(/[^\n]+/g)) {
      const first = index + text.search(/\S/);
      if (characters[first] === outside || /^\s*(?:\/[/*]|\*|[\])}]+[;,]?$)/.test(text)) continue;
      found.lines += 1;
      if (!characters.subarray(first, index + text.length).includes(missed)) found.ran += 1;
    }
    found.unreached.push(...unreachedIn(source, characters).map((each) => ({ path, ...each })));
  }
  return found;
}

function unreachedIn(source: string, characters: Uint8Array): { line: number; text: string }[] {
  const found = [];
  for (let from = characters.indexOf(missed); from !== -1;) {
    let end = from;
    while (characters[end] === missed) end += 1;
    const text = source.slice(from, end);
    // Punctuation alone is no branch, such as the end of a block behind a return.
    if (/[^{}();,\s]/.test(text)) {
      const line = source.slice(0, from + text.search(/\S/)).split('\n').length;
      found.push({ line, text: text.trim().replaceAll(/\s+/g, ' ') });
    }
    from = characters.indexOf(missed, end);
  }
  return found;
}
