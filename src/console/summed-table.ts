import { type Columns, type Html, html, number } from '../documents/html.ts';
import { count, type Listing, listTable, money } from './parts.ts';

/**
 * A table of things with amounts, and the row of their sums.
 *
 * @param isWhole false: there are more rows on other pages; sums: of columns that are no `amountCell`, by their names
 */
export function summedTable<Row>(
  listing: Listing,
  rows: readonly Row[],
  columns: Columns<Row>,
  { isWhole = true, sums = {} }: { isWhole?: boolean; sums?: Readonly<Record<string, Html | string>> } = {},
): Html {
  const shown = Object.entries(columns).filter(([, cell]) => cell !== false);
  const all = shown.map(([name, cell]) => {
    if (typeof cell !== 'object' || !('cents' in cell)) return sums[name];
    const { cents } = cell as { cents: (row: Row) => number };
    return money(sumOf(rows, cents));
  });
  const first = all.findIndex((sum) => sum !== undefined);
  const foot = html`<tr>
    <th scope="row" colspan="${first}">${isWhole ? 'All' : 'This page:'} ${count(rows.length)}</th>
    ${all.slice(first).map((sum) => number(sum ?? ''))}
  </tr>`;
  return listTable({ ...listing, foot }, rows, columns);
}

export const sumOf = <Row>(rows: readonly Row[], cents: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + cents(row), 0);
