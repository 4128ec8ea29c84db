import { expect, it } from 'vitest';
import { entriesOfBundle, entryBundle, tileOfPath, tilePath, tilesOf, widthOf } from '../../src/proof/tiles.ts';

it.each([
  [{ level: 0, index: 0, width: 256 }, '0/000'],
  [{ level: 1, index: 7, width: 3 }, '1/007.p/3'],
  // The example of the specification.
  [{ level: 0, index: 1_234_067, width: 256 }, '0/x001/x234/067'],
  [{ level: 'entries', index: 1_000, width: 255 }, 'entries/x001/000.p/255'],
] as const)('%j is at %s', (tile, path) => {
  expect(tilePath(tile)).toBe(path);
  expect(tileOfPath(path)).toEqual(tile);
});

it.each([
  ...['', '0', '0/', '0/0', '0/00', '0/0000', '00/000', '0/x000/000', '0/x001/x000', '0/001.p/0', '0/001.p/256'],
  ...[
    '0/001.p/01',
    '0/001.p/',
    '0/001.p',
    'entry/000',
    'entries/',
    '-1/000',
    '0/000/',
    '0/../000',
    '100/000',
    '0/x1/000',
  ],
])('nothing is at %j', (path) => {
  expect(tileOfPath(path)).toBeUndefined();
});

it('a tree has the tiles that its size says', () => {
  const pathsOf = (size: number) => [...tilesOf(size)].map(tilePath);
  expect(pathsOf(0)).toEqual([]);
  expect(pathsOf(1)).toEqual(['entries/000.p/1', '0/000.p/1']);
  expect(pathsOf(256)).toEqual(['entries/000', '0/000', '1/000.p/1']);
  expect(pathsOf(70_000)).toContain('1/001.p/17');
  expect(pathsOf(70_000)).toContain('2/000.p/1');
  expect(pathsOf(70_000)).toContain('0/273.p/112');
  expect(widthOf({ level: 0, index: 274 }, 70_000)).toBe(0);
});

it('bundles give back their entries, and one that is cut none', () => {
  const entries = [Buffer.alloc(32, 1), Buffer.of(), Buffer.alloc(300, 2)];
  const bundle = entryBundle(entries);
  expect(entriesOfBundle(bundle)).toEqual(entries);
  expect(() => entriesOfBundle(bundle.subarray(0, -1))).toThrow(RangeError);
});
