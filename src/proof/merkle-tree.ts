import { createHash } from 'node:crypto';

/**
 * The Merkle tree of RFC 9162, section 2.1, over SHA-256. Hashes are of 32 bytes. A node is the hash of a subtree whose leaves are
 * all there: 2^level of them, the first one at index · 2^level. The tree of any size is made of such nodes, which never change.
 */

export interface TreeNode {
  /** 0: a leaf. */
  level: number;
  index: number;
  hash: Buffer;
}

export type ReadNode = (level: number, index: number) => Promise<Buffer>;

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest();
};

const leafHash = (entry: Uint8Array): Buffer => sha256(Buffer.of(0), entry);
const parentHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right);

/**
 * The nodes that a leaf completes: itself, and each subtree whose last leaf it is.
 *
 * @param size of the tree before
 * @param entry of the leaf
 * @param read nodes of the tree before
 */
export async function nodesOfNextLeaf(size: number, entry: Uint8Array, read: ReadNode): Promise<TreeNode[]> {
  const nodes: TreeNode[] = [{ level: 0, index: size, hash: leafHash(entry) }];
  for (let last = nodes[0]; last && last.index % 2 === 1; last = nodes.at(-1)) {
    const { level, index, hash } = last;
    nodes.push({ level: level + 1, index: (index - 1) / 2, hash: parentHash(await read(level, index - 1), hash) });
  }
  return nodes;
}

/** A tree that takes further leaves, as the complete subtrees that it is made of. */
export interface Frontier {
  size: number;
  /** Of its subtrees, the largest first: one for each binary digit 1 of the size. */
  hashes: readonly Buffer[];
}

export const emptyFrontier: Frontier = { size: 0, hashes: [] };

export function withNextLeaf({ size, hashes }: Frontier, entry: Uint8Array): Frontier {
  const left = [...hashes];
  let hash = leafHash(entry);
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) hash = parentHash(left.pop() ?? Buffer.of(), hash);
  return { size: size + 1, hashes: [...left, hash] };
}

export const rootOfFrontier = ({ hashes }: Frontier): Buffer =>
  hashes.length === 0 ? sha256() : hashes.reduceRight((right, left) => parentHash(left, right));

/** Leaves from the one at `from` on, before the one at `to`. */
interface Leaves {
  from: number;
  to: number;
}

/** The number of leaves on the left: the largest power of two below their number. */
function leftOf({ from, to }: Leaves): number {
  let left = 1;
  while (left * 2 < to - from) left *= 2;
  return left;
}

function halves(leaves: Leaves): [left: Leaves, right: Leaves] {
  const middle = leaves.from + leftOf(leaves);
  return [
    { from: leaves.from, to: middle },
    { from: middle, to: leaves.to },
  ];
}

async function hashOf({ from, to }: Leaves, read: ReadNode): Promise<Buffer> {
  const count = to - from;
  const level = Math.log2(count);
  if (Number.isInteger(level)) return await read(level, from / count);
  const [left, right] = halves({ from, to });
  return parentHash(await hashOf(left, read), await hashOf(right, read));
}

/** The root of the tree of the first leaves. */
export const rootOf = async (size: number, read: ReadNode): Promise<Buffer> =>
  size === 0 ? sha256() : await hashOf({ from: 0, to: size }, read);

/**
 * The path from a leaf to the root, its neighbour first (RFC 9162, section 2.1.3.1).
 *
 * @throws {RangeError} for a leaf that the tree does not have
 */
export async function inclusionProof(index: number, size: number, read: ReadNode): Promise<Buffer[]> {
  if (index < 0 || index >= size) throw new RangeError(`a tree of ${String(size)} has no leaf ${String(index)}`);
  const path: Buffer[] = [];
  let leaves: Leaves = { from: 0, to: size };
  while (leaves.to - leaves.from > 1) {
    const [left, right] = halves(leaves);
    const isLeft = index < left.to;
    path.unshift(await hashOf(isLeft ? right : left, read));
    leaves = isLeft ? left : right;
  }
  return path;
}
