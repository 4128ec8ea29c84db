import { createHash } from 'node:crypto';

/**
 * The Merkle tree of RFC 9162, section 2.1, over SHA-256. Hashes are of 32 bytes. A node is the hash of a subtree whose leaves are
 * all there: 2^level of them, the first one at index · 2^level. The tree of any size is made of such nodes, which never change.
 */

export interface NodePlace {
  /** 0: a leaf. */
  level: number;
  index: number;
}

interface TreeNode extends NodePlace {
  hash: Buffer;
}

/** Reads the hashes of nodes, in the order of their places. */
export type ReadNodes = (places: readonly NodePlace[]) => Promise<Buffer[]>;

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
};

const leafHash = (entry: Uint8Array): Buffer => sha256(Buffer.of(0), entry);
const parentHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right);

/** A tree that takes further leaves, as the complete subtrees that it is made of. */
export interface Frontier {
  size: number;
  /** Of its subtrees, the largest first: one for each binary digit 1 of the size. */
  hashes: readonly Buffer[];
}

export const emptyFrontier: Frontier = { size: 0, hashes: [] };

/** @returns also the nodes that the leaf completes: itself, and each subtree whose last leaf it is */
export function withNextLeaf({ size, hashes }: Frontier, entry: Uint8Array): Frontier & { nodes: TreeNode[] } {
  const left = [...hashes];
  let node: TreeNode = { level: 0, index: size, hash: leafHash(entry) };
  const nodes = [node];
  while (node.index % 2 === 1) {
    const hash = parentHash(left.pop() ?? Buffer.of(), node.hash);
    node = { level: node.level + 1, index: (node.index - 1) / 2, hash };
    nodes.push(node);
  }
  return { size: size + 1, hashes: [...left, node.hash], nodes };
}

const rootOfSubtrees = (hashes: readonly Buffer[]): Buffer =>
  hashes.length === 0 ? sha256() : hashes.reduceRight((right, left) => parentHash(left, right));

export const rootOfFrontier = ({ hashes }: Frontier): Buffer => rootOfSubtrees(hashes);

/** Leaves from the one at `from` on, before the one at `to`: a whole tree, or what stands on one side of a node of it. */
interface Leaves {
  from: number;
  to: number;
}

/** The complete subtrees of leaves, the largest first: one for each binary digit 1 of their number. */
function subtreesOf({ from, to }: Leaves): NodePlace[] {
  const places: NodePlace[] = [];
  for (let [level, width] = [0, 1]; width <= to - from; level += 1, width *= 2)
    if (Math.floor((to - from) / width) % 2 === 1) places.unshift({ level, index: Math.floor(to / width) - 1 });
  return places;
}

/** The tree of the first leaves. */
export const readFrontier = async (size: number, read: ReadNodes): Promise<Frontier> => ({
  size,
  hashes: await read(subtreesOf({ from: 0, to: size })),
});

/** The root of the tree of the first leaves. */
export const rootOf = async (size: number, read: ReadNodes): Promise<Buffer> =>
  rootOfFrontier(await readFrontier(size, read));

/**
 * The path from a leaf to the root, its neighbour first (RFC 9162, section 2.1.3.1).
 *
 * @throws {RangeError} for a leaf that the tree does not have
 */
export async function inclusionProof(index: number, size: number, read: ReadNodes): Promise<Buffer[]> {
  if (index < 0 || index >= size) throw new RangeError(`a tree of ${String(size)} has no leaf ${String(index)}`);
  const path: NodePlace[][] = [];
  for (let [from, to] = [0, size]; to - from > 1;) {
    const middle = middleOf({ from, to });
    if (index < middle) {
      path.unshift(subtreesOf({ from: middle, to }));
      to = middle;
    } else {
      path.unshift(subtreesOf({ from, to: middle }));
      from = middle;
    }
  }
  const nodes = await read(path.flat());
  return path.map(({ length }) => rootOfSubtrees(nodes.splice(0, length)));
}

/** As many leaves stand on the left as the largest power of two below their number. */
function middleOf({ from, to }: Leaves): number {
  let left = 1;
  while (left * 2 < to - from) left *= 2;
  return from + left;
}
