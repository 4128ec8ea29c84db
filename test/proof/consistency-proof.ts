import type { ReadNode } from '../../src/proof/merkle-tree.ts';
import { sha256 } from './naive-tree.ts';

/**
 * What proves that a tree was only appended to (RFC 9162, section 2.1.4.1), as readers of the tiles make it.
 *
 * @returns none for the same size
 * @throws {RangeError} unless 0 < earlier ≤ size
 */
export async function consistencyProof(earlier: number, size: number, read: ReadNode): Promise<Buffer[]> {
  if (earlier < 1 || earlier > size)
    throw new RangeError(`a tree of ${String(size)} does not follow one of ${String(earlier)}`);
  let [from, to] = [0, size];
  const path: Buffer[] = [];
  while (to !== earlier) {
    const middle = middleOf(from, to);
    const isLeft = earlier <= middle;
    path.unshift(isLeft ? await hashOf(middle, to, read) : await hashOf(from, middle, read));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  // The earlier tree by itself is known to whoever has its root.
  return from === 0 ? path : [await hashOf(from, to, read), ...path];
}

/** The largest power of two below the number of the leaves lies on the left. */
const middleOf = (from: number, to: number) => from + 2 ** Math.floor(Math.log2(to - from - 0.5));

async function hashOf(from: number, to: number, read: ReadNode): Promise<Buffer> {
  const level = Math.log2(to - from);
  if (Number.isInteger(level)) return await read(level, from / (to - from));
  const middle = middleOf(from, to);
  return sha256(Buffer.of(1), await hashOf(from, middle, read), await hashOf(middle, to, read));
}
