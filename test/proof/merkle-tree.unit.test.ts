import { describe, expect, it } from 'vitest';
import { emptyFrontier, inclusionProof, rootOf, rootOfFrontier, withNextLeaf } from '../../src/proof/merkle-tree.ts';
import { consistencyProof } from './consistency-proof.ts';
import { isConsistent, naiveRoot, rootByInclusion, sha256 } from './naive-tree.ts';
import { TreeInMemory } from './tree-in-memory.ts';

/** The entries and roots that implementations of Certificate Transparency are tested with. */
const known = [
  ['', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  ['00', 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
  ['10', 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
  ['2021', 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
  ['3031', '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
  ['40414243', '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef'],
  ['5051525354555657', 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
  ['606162636465666768696a6b6c6d6e6f', '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
] as const;

it('has the roots that are known for known entries', async () => {
  const nodes = new TreeInMemory();
  expect((await rootOf(0, nodes.read)).toString('hex')).toBe(
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  );
  for (const [entry, root] of known) {
    nodes.append(Buffer.from(entry, 'hex'));
    expect((await rootOf(nodes.size, nodes.read)).toString('hex')).toBe(root);
  }
});

describe('trees of every size up to 70', () => {
  const entries = Array.from({ length: 70 }, (_, index) => sha256(Buffer.from(`entry ${String(index)}`)));
  const roots = entries.map((_, index) => naiveRoot(entries.slice(0, index + 1)));
  const nodes = new TreeInMemory(entries);

  it('have the roots of the definition', async () => {
    for (const [index, root] of roots.entries()) expect(await rootOf(index + 1, nodes.read)).toEqual(root);
  });

  it('have the same roots where only their largest subtrees are kept', () => {
    let frontier = emptyFrontier;
    expect(rootOfFrontier(frontier)).toEqual(naiveRoot([]));
    for (const [index, entry] of entries.entries()) {
      frontier = withNextLeaf(frontier, entry);
      expect([frontier.size, rootOfFrontier(frontier)]).toEqual([index + 1, roots[index]]);
    }
  });

  it('prove each of their leaves, and no other', async () => {
    for (const [at, root] of roots.entries())
      for (const [index, entry] of entries.slice(0, at + 1).entries()) {
        const path = await inclusionProof(index, at + 1, nodes.read);
        expect(rootByInclusion(index, at + 1, entry, path)).toEqual(root);
        expect(rootByInclusion(index, at + 1, sha256(entry), path)).not.toEqual(root);
      }
  });

  it('prove that they follow each earlier one', async () => {
    for (const [at, root] of roots.entries())
      for (const [before, first] of roots.slice(0, at + 1).entries()) {
        const proof = await consistencyProof(before + 1, at + 1, nodes.read);
        expect(isConsistent([before + 1, at + 1], [first, root], proof)).toBe(true);
        expect(isConsistent([before + 1, at + 1], [sha256(first), root], proof)).toBe(false);
      }
  });

  it('prove nothing about what they do not have', async () => {
    await expect(inclusionProof(70, 70, nodes.read)).rejects.toThrow('a tree of 70 has no leaf 70');
    await expect(consistencyProof(0, 70, nodes.read)).rejects.toThrow('a tree of 70 does not follow one of 0');
    await expect(consistencyProof(71, 70, nodes.read)).rejects.toThrow('a tree of 70 does not follow one of 71');
  });
});
