import {
  emptyFrontier,
  type Frontier,
  type NodePlace,
  type ReadNodes,
  withNextLeaf,
} from '../../src/proof/merkle-tree.ts';

const nameOf = ({ level, index }: NodePlace) => `${String(level)} ${String(index)}`;

/** A tree that keeps its nodes by their places, as Postgres does. */
export class TreeInMemory {
  #tree: Frontier = emptyFrontier;
  readonly #hashes = new Map<string, Buffer>();

  constructor(entries: readonly Uint8Array[] = []) {
    for (const entry of entries) this.append(entry);
  }

  get size(): number {
    return this.#tree.size;
  }

  append(entry: Uint8Array): void {
    const grown = withNextLeaf(this.#tree, entry);
    for (const node of grown.nodes) this.#hashes.set(nameOf(node), node.hash);
    this.#tree = grown;
  }

  readonly read: ReadNodes = async (places) =>
    places.map((place) => {
      const hash = this.#hashes.get(nameOf(place));
      if (!hash) throw new Error(`no node ${nameOf(place)}`);
      return hash;
    });
}
