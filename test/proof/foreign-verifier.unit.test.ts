import { RFC9162 } from '@transmute/rfc9162';
import { describe, expect, it } from 'vitest';
import { inclusionProof, rootOf } from '../../src/proof/merkle-tree.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { consistencyProof } from './consistency-proof.ts';
import { naiveTree, sha256 } from './naive-tree.ts';
import { TreeInMemory } from './tree-in-memory.ts';

/** Somebody else's reading of RFC 9162, which takes our proofs and refuses them with one bit changed. */

const entriesOf = (size: number) =>
  Array.from({ length: size }, (_, index) => sha256(Buffer.from(`entry ${String(index)}`)));

/** Any one bit of one of the hashes. */
function withBitFlipped(hashes: readonly Buffer[], at: number): Buffer[] {
  const changed = hashes.map((hash) => Buffer.from(hash));
  const hash = changed[at % changed.length];
  if (hash) hash[at % 32] = (hash[at % 32] ?? 0) ^ (1 << (at % 8));
  return changed;
}

const isIncluded = async (
  root: Buffer,
  entry: Buffer,
  { index, size, path }: { index: number; size: number; path: Buffer[] },
) =>
  RFC9162.verifyInclusionProof(root, await RFC9162.leaf(entry), {
    log_id: '',
    tree_size: size,
    leaf_index: index,
    inclusion_path: path,
  });

/** It leaves step 2 of section 2.1.4.2 to its caller: the first root comes before the path where it is that of a whole subtree. */
const isConsistent = (
  [first, second]: readonly [Buffer, Buffer],
  [earlier, later]: readonly [number, number],
  path: readonly Buffer[],
) =>
  RFC9162.verifyConsistencyProof(first, second, {
    log_id: '',
    tree_size_1: earlier,
    tree_size_2: later,
    consistency_path: Number.isInteger(Math.log2(earlier)) ? [first, ...path] : [...path],
  });

const sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1_000];
if (isLongProof) sizes.push(65_535, 65_536, 65_537, 100_000);

describe.each(sizes)('a tree of %i', (size) => {
  it('has the root of the definition, and proofs that a foreign implementation takes, whole and unchanged', async () => {
    const entries = entriesOf(size);
    const { read } = new TreeInMemory(entries);
    const root = await rootOf(size, read);
    const naive = naiveTree(entries);
    expect(root).toEqual(naive.root(size));
    // All of a small tree, else both ends and some between.
    const step = Math.max(1, Math.floor(size / 50));
    const picked = [
      ...new Set([...Array.from({ length: size }, (_, at) => at).filter((at) => at % step === 0), size - 1]),
    ];
    for (const index of picked) {
      const entry = entries[index] ?? Buffer.of();
      const path = await inclusionProof(index, size, read);
      expect(path).toEqual(naive.inclusionProof(index, size));
      expect(await isIncluded(root, entry, { index, size, path })).toBe(true);
      expect(await isIncluded(root, sha256(entry), { index, size, path })).toBe(false);
      expect(await isIncluded(withBitFlipped([root], index)[0] ?? root, entry, { index, size, path })).toBe(false);
      if (path.length > 0)
        expect(await isIncluded(root, entry, { index, size, path: withBitFlipped(path, index) })).toBe(false);
    }
    for (const earlier of picked.filter((at) => at > 0)) {
      const first = await rootOf(earlier, read);
      expect(first).toEqual(naive.root(earlier));
      const path = await consistencyProof(earlier, size, read);
      expect(path).toEqual(naive.consistencyProof(earlier, size));
      expect(await isConsistent([first, root], [earlier, size], path)).toBe(true);
      expect(await isConsistent([first, root], [earlier, size], withBitFlipped(path, earlier))).toBe(false);
      const another = withBitFlipped([first], earlier)[0] ?? first;
      expect(await isConsistent([another, root], [earlier, size], path)).toBe(false);
    }
  });
});

it('the empty tree has the root of the definition', async () => {
  expect(await rootOf(0, new TreeInMemory().read)).toEqual(naiveTree([]).root(0));
});
