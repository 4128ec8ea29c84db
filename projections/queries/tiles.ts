import { entryBundle, type Tile, tileHeight, tileWidth } from '../../src/proof/tiles.ts';
import { readLeaves, readNodeRow } from '../proofs.ts';
import type { Queryable } from '../runner/rows.ts';

/** The bytes of a tile: hashes of 32 bytes each, or entries. @throws unless the tree has all of it */
export async function readTile(client: Queryable, { level, index, width }: Tile): Promise<Buffer> {
  const from = index * tileWidth;
  const parts =
    level === 'entries'
      ? (await readLeaves(client, { from, to: from + width })).map(({ hash }) => Buffer.from(hash, 'hex'))
      : await readNodeRow(client, { level: level * tileHeight, from, count: width });
  if (parts.length !== width) throw new Error(`the tree lacks a part of the tile ${String(level)}/${String(index)}`);
  return level === 'entries' ? entryBundle(parts) : Buffer.concat(parts);
}
