import { describe, expect, it } from 'vitest';
import { columnTable } from '../../src/documents/html.ts';

describe('the row of sums of a table', () => {
  const footOf = (sums: Record<string, string>) =>
    columnTable([1], { Key: () => 'a', Cost: () => '1' }, { name: 'All 1', sums }).text.split('</tbody>')[1];

  it('has its name below the columns before the first sum', () => {
    expect(footOf({ Cost: '$1.00' })).toMatch(/colspan="1">All 1<\/th>.*\$1\.00/s);
  });

  it('is not there where no column has a sum', () => {
    expect(footOf({ Elsewhere: '$1.00' })).not.toContain('<tfoot');
  });

  it('has no room for a name where the first column has a sum', () => {
    expect(footOf({ Key: '1' })).not.toMatch(/colspan|All 1/);
  });
});
