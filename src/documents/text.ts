/** Tables and lists of facts as text, for a terminal or a file. */

/** Columns of a terminal that is narrower than a table; undefined: nothing is wrapped. */
export interface Width {
  columns: number | undefined;
}

const gap = '  ';

/**
 * Columns as wide as their widest cell. On a terminal that is too narrow, cells are wrapped between words; where even that
 * does not fit, each row is a paragraph of its own. Nothing is ever left out.
 */
export function table({ columns }: Width, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widest = (lengthOf: (cell: string) => number) =>
    head.map((_name, column) => Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))));
  const natural = widest((cell) => cell.length);
  if (columns === undefined || rows.length === 0 || widthOf(natural) <= columns)
    return lines.map((line) => rowText(line, natural)).join('\n');
  const least = widest((cell) => Math.max(...cell.split(' ').map((word) => word.length)));
  if (widthOf(least) > columns) return rows.map((row) => paragraph(head, row, columns)).join('\n\n');
  const widths = widened(least, natural, columns - widthOf(least));
  return lines.map((line) => rowText(line, widths)).join('\n');
}

const widthOf = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);

/** Spare width goes to the columns that need least, so that as few as possible are wrapped. */
function widened(least: readonly number[], natural: readonly number[], spare: number): number[] {
  const widths = [...least];
  const lack = (column: number) => (natural[column] ?? 0) - (least[column] ?? 0);
  let left = spare;
  for (const column of widths.map((_width, index) => index).toSorted((one, other) => lack(one) - lack(other))) {
    const more = Math.min(lack(column), left);
    widths[column] = (widths[column] ?? 0) + more;
    left -= more;
  }
  return widths;
}

function rowText(cells: readonly string[], widths: readonly number[]): string {
  const wrapped = widths.map((width, column) => wrap(cells[column] ?? '', width));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_line, index) =>
    wrapped
      .map((lines, column) => (lines[index] ?? '').padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd(),
  ).join('\n');
}

function paragraph(head: readonly string[], row: readonly string[], columns: number): string {
  const nameWidth = Math.max(...head.map((name) => name.length));
  const widths = [nameWidth, Math.max(columns - nameWidth - gap.length, 1)];
  return head.map((name, column) => rowText([name, row[column] ?? ''], widths)).join('\n');
}

/** Between words; a word that is longer than a line is cut. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

/** Lines of `name  value`. */
export function facts(data: Readonly<Record<string, string | number | boolean | null>>): string {
  const width = Math.max(...Object.keys(data).map((name) => name.length));
  return Object.entries(data)
    .map(([name, value]) => `${name.padEnd(width)}  ${String(value ?? '-')}`)
    .join('\n');
}

/**
 * Makes a foreign text safe for a terminal: control characters move the cursor, and those of right-to-left writing change
 * the order in which a line is read.
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
