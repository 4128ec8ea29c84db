import type { Columns, Html } from '../documents/html.ts';
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
  const amounts = Object.entries(columns).flatMap(([name, column]) => {
    if (typeof column !== 'object' || !('cents' in column)) return [];
    const { cents } = column as { cents: (row: Row) => number };
    return [[name, money(sumOf(rows, cents))] as const];
  });
  const name = `${isWhole ? 'All' : 'This page:'} ${count(rows.length)}`;
  return listTable({ ...listing, foot: { name, sums: { ...sums, ...Object.fromEntries(amounts) } } }, rows, columns);
}

export const sumOf = <Row>(rows: readonly Row[], cents: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + cents(row), 0);
