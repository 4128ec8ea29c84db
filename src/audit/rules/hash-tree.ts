import { hash } from 'node:crypto';

/** A node of a tree of RFC 9162: the hash of a subtree whose leaves are all there. Level 0: a leaf. */
export interface TreeNode {
  level: number;
  node_index: number;
  /** Hexadecimal. */
  hash: string;
}

const hashOf = (...parts: readonly Uint8Array[]) => hash('sha256', Buffer.concat(parts));
const bytes = (hex: string) => Buffer.from(hex, 'hex');

/** A growing Merkle tree (RFC 9162, section 2.1), by the audit's own reading. It keeps the subtrees that its root is made of. */
export class HashTree {
  size = 0;
  #subtrees: TreeNode[] = [];

  /** @param entry hexadecimal @returns the nodes that the leaf completes, itself first */
  add(entry: string): TreeNode[] {
    let node: TreeNode = { level: 0, node_index: this.size, hash: hashOf(Buffer.of(0), bytes(entry)) };
    const completed = [node];
    while (this.#subtrees.at(-1)?.level === node.level) {
      const left = this.#subtrees.pop();
      node = {
        level: node.level + 1,
        node_index: Math.floor(node.node_index / 2),
        hash: hashOf(Buffer.of(1), bytes(left?.hash ?? ''), bytes(node.hash)),
      };
      completed.push(node);
    }
    this.#subtrees.push(node);
    this.size += 1;
    return completed;
  }

  /** The hashes of the subtrees, the largest first. */
  get frontier(): string[] {
    return this.#subtrees.map((subtree) => subtree.hash);
  }

  get root(): string {
    const [last = hash('sha256', ''), ...others] = this.frontier.reverse();
    return others.reduce((right, left) => hashOf(Buffer.of(1), bytes(left), bytes(right)), last);
  }
}
