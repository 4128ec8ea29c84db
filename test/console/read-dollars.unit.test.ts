import { describe, expect, it } from 'vitest';
import { readDollars } from '../../src/console/form-fields.ts';

describe('an amount that a person types', () => {
  it.each([
    ['25', 2_500],
    ['12.50', 1_250],
    ['0.1', 10],
    ['$1,234.05', 123_405],
    ['1,234,567', 123_456_700],
    [' 0 ', 0],
    // 0.29 × 100 is not 29 in binary fractions.
    ['0.29', 29],
    ['1.15', 115],
  ])('%s is %i cents', (text, cents) => {
    expect(readDollars(text)).toBe(cents);
  });

  it('means none where nothing is typed', () => {
    expect(readDollars('  ')).toBeNull();
  });

  // A decimal comma is none: $12.50 would become $1,250.00.
  it.each(['12,50', '1,2345', '1234,567', ',123', '1,234,5', '12,'])(
    'has no commas but between thousands: not %s',
    (text) => {
      expect(readDollars(text)).toBeUndefined();
    },
  );

  it.each(['-1', '1.234', '1e3', 'ten', '.5', '1.', '٣', '99999999999', '10000000000.01'])('cannot be %s', (text) => {
    expect(readDollars(text)).toBeUndefined();
  });
});
