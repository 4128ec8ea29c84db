import { describe, expect, it } from 'vitest';
import { table } from '../../src/documents/text.ts';

const head = ['token', 'status', 'reason'];
const rows = [
  ['KetMw5FytYaj5Jagkyemfp2E1xf6-R9a', 'failed', 'The video does not exist or has been removed.'],
  ['qVxV0cVJ2cNqW1mXk0n9rT4uZb7aY-3d', 'done', ''],
];
const lines = (columns: number | undefined) => table({ columns }, head, rows).split('\n');

describe('a table', () => {
  it('is as wide as its cells in a pipe, and on a terminal that is wide enough', () => {
    const wide = [
      'token                             status  reason',
      'KetMw5FytYaj5Jagkyemfp2E1xf6-R9a  failed  The video does not exist or has been removed.',
      'qVxV0cVJ2cNqW1mXk0n9rT4uZb7aY-3d  done',
    ];
    expect(lines(undefined)).toEqual(wide);
    expect(lines(87)).toEqual(wide);
  });

  it('wraps cells between words on a narrower one', () => {
    expect(lines(66)).toEqual([
      'token                             status  reason',
      'KetMw5FytYaj5Jagkyemfp2E1xf6-R9a  failed  The video does not exist',
      '                                          or has been removed.',
      'qVxV0cVJ2cNqW1mXk0n9rT4uZb7aY-3d  done',
    ]);
  });

  it('is a paragraph for each row where no word may be cut otherwise', () => {
    expect(lines(41)).toEqual([
      'token   KetMw5FytYaj5Jagkyemfp2E1xf6-R9a',
      'status  failed',
      'reason  The video does not exist or has',
      '        been removed.',
      '',
      'token   qVxV0cVJ2cNqW1mXk0n9rT4uZb7aY-3d',
      'status  done',
      'reason',
    ]);
  });

  it('leaves nothing out, and never goes beyond the edge', () => {
    for (let columns = 8 + 1; columns < 100; columns += 1) {
      const shown = lines(columns);
      expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(columns);
      const words = shown.join('').replaceAll(' ', '');
      if (columns > 50) for (const cell of rows.flat()) expect(words.length).toBeGreaterThanOrEqual(cell.length);
    }
  });

  it('without rows is its head', () => {
    expect(table({ columns: 10 }, head, [])).toBe('token  status  reason');
  });
});
