import type { NodePlace, ReadNodes } from '../../src/proof/merkle-tree.ts';
import { sha256 } from './naive-tree.ts';

/**
 * What proves that a tree was only appended to (RFC 9162, section 2.1.4.1), as readers of the tiles make it.
 *
 * @returns none for the same size
 * @throws {RangeError} unless 0 < earlier ≤ size
 */
export async function consistencyProof(earlier: number, size: number, read: ReadNodes): Promise<Buffer[]> {
  if (earlier < 1 || earlier > size)
    throw new RangeError(`a tree of ${String(size)} does not follow one of ${String(earlier)}`);
  let [from, to] = [0, size];
  const path: NodePlace[][] = [];
  while (to !== earlier) {
    const middle = middleOf(from, to);
    const isLeft = earlier <= middle;
    path.unshift(isLeft ? subtreesOf(middle, to) : subtreesOf(from, middle));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  // The earlier tree by itself is known to whoever has its root.
  if (from > 0) path.unshift(subtreesOf(from, to));
  const nodes = await read(path.flat());
  return path.map(({ length }) =>
    nodes.splice(0, length).reduceRight((right, left) => sha256(Buffer.of(1), left, right)),
  );
}

/** The largest power of two below the number of the leaves lies on the left. */
const middleOf = (from: number, to: number) => from + 2 ** Math.floor(Math.log2(to - from - 0.5));

function subtreesOf(from: number, to: number): NodePlace[] {
  const level = Math.log2(to - from);
  if (Number.isInteger(level)) return [{ level, index: from / (to - from) }];
  const middle = middleOf(from, to);
  return [...subtreesOf(from, middle), ...subtreesOf(middle, to)];
}
