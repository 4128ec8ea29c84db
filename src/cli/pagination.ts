import { type Output, print } from './output.ts';

/** Long lists come a page at a time, each beginning behind the last key of the one before: what is added shifts nothing. */
export interface PageOptions {
  limit: number;
  /** The last key of the page before. */
  after?: string;
}

/**
 * @param found one more than the limit, if there are so many
 * @returns next: key that the next page begins after; null if there is no next page
 */
export function takePage<Row>(found: readonly Row[], limit: number, keyOf: (row: Row) => string) {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last !== undefined ? keyOf(last) : null };
}

/** Says how to get the next page: in the document, or beside the text, so that a pipe holds nothing but rows. */
export function printPage(output: Output, data: object, { next, text }: { next: string | null; text: string }): void {
  print(output, { ...data, next }, text);
  if (next !== null && !output.json) output.tell(`there are more: add --after ${next}\n`);
}
