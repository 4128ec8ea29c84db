/** Tiles of a log, as C2SP tlog-tiles (c2sp.org/tlog-tiles) names and fills them: 256 nodes, or entries, of one level side by side. */

export interface Tile {
  /** Of its hashes: 0 for those of leaves, 1 for those of 256 leaves each. Entries stand beside level 0. */
  level: number | 'entries';
  index: number;
  /** The number of its hashes or entries: less than 256 only in the last tile of its level. */
  width: number;
}

export const tileWidth = 256;
/** How much one level of tiles is above the one before, in levels of the tree. */
export const tileHeight = 8;

/** The path behind `/tile/`. */
export function tilePath({ level, index, width }: Tile): string {
  const parts = [String(index % 1_000).padStart(3, '0')];
  for (let rest = Math.floor(index / 1_000); rest > 0; rest = Math.floor(rest / 1_000))
    parts.unshift(`x${String(rest % 1_000).padStart(3, '0')}`);
  const partial = width === tileWidth ? '' : `.p/${String(width)}`;
  return `${String(level)}/${parts.join('/')}${partial}`;
}

/** @returns undefined for a path that names no tile in the one way to write it */
export function tileOfPath(path: string): Tile | undefined {
  const form = /^(entries|\d{1,2})\/((?:x\d{3}\/){0,3}\d{3})(?:\.p\/(\d{1,3}))?$/;
  const [, level = '', index = '', width] = form.exec(path) ?? [];
  const tile: Tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(index.replaceAll(/[x/]/g, '')),
    width: width === undefined ? tileWidth : Number(width),
  };
  return tile.width >= 1 && tilePath(tile) === path ? tile : undefined;
}

/** How many hashes or entries a tree has in the tile of that place; 0 beyond its end. */
export function widthOf({ level, index }: Pick<Tile, 'level' | 'index'>, size: number): number {
  const nodes = Math.floor(size / tileWidth ** (level === 'entries' ? 0 : level));
  return Math.max(0, Math.min(tileWidth, nodes - index * tileWidth));
}

/** Every tile of a tree, entries first. */
export function* tilesOf(size: number): Generator<Tile> {
  for (const level of ['entries', 0, 1, 2, 3, 4, 5] as const)
    for (let index = 0; ; index += 1) {
      const width = widthOf({ level, index }, size);
      if (width > 0) yield { level, index, width };
      if (width < tileWidth) break;
    }
}

/** Entries, each with its length in front as two bytes. */
export const entryBundle = (entries: readonly Uint8Array[]): Buffer =>
  Buffer.concat(entries.flatMap((entry) => [Buffer.of(entry.length >> 8, entry.length & 255), entry]));

/** @throws {RangeError} for a bundle that is cut */
export function entriesOfBundle(bundle: Buffer): Buffer[] {
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.length;) {
    const end = at + 2 + bundle.readUInt16BE(at);
    if (end > bundle.length) throw new RangeError('a bundle of entries ends within one');
    entries.push(bundle.subarray(at + 2, end));
    at = end;
  }
  return entries;
}
