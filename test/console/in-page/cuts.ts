import type { CutColumn } from './answers.ts';

/**
 * What readers cannot see of the tables of a page without scrolling to the side: texts that reach out of their cell, out of what
 * is visible of the box around their table, or out of the window. Amounts are made as large as an account's may be before, and
 * addresses of videos as long as platforms give them.
 *
 * @returns none for a page whose tables are read as they stand
 */
export async function cuts(): Promise<CutColumn[]> {
  const largeAmount = '$12,345.67';
  const longAddress = 'https://www.tiktok.com/@example.press.agency/video/7231338487075638571?lang=en&is_from_webapp=1';
  // Edges of letters lie between pixels.
  const tolerance = 1;
  // Plots are drawn anew after the frame in which their width has changed.
  for (let frame = 0; frame < 3; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  const tables = [...document.querySelectorAll('table')].filter((table) => table.checkVisibility());
  const cut = new Map<string, CutColumn>();
  for (const table of tables) {
    enlarge(table);
    for (const row of table.rows) {
      for (const cell of row.cells) {
        const text = cutLabel(cell) ?? cutText(cell);
        if (text === undefined) continue;
        const place = { table: nameOf(table), column: columnOf(table, cell) };
        const counted = cut.get(JSON.stringify(place)) ?? { ...place, cells: 0, text };
        cut.set(JSON.stringify(place), { ...counted, cells: counted.cells + 1 });
      }
    }
  }
  return [...cut.values()];

  function enlarge(table: HTMLTableElement): void {
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const isAmount = /^\s*-?\$[\d,]+\.\d\d\s*$/.test(node.nodeValue ?? '');
      if (isAmount && node.parentElement?.closest('.number')) node.nodeValue = largeAmount;
      if (/^\s*https?:\S+\s*$/.test(node.nodeValue ?? '')) node.nodeValue = longAddress;
    }
  }

  function nameOf(table: HTMLTableElement): string {
    return table.closest('[aria-label]')?.getAttribute('aria-label') ?? 'a table without a name';
  }

  function columnOf(table: HTMLTableElement, cell: HTMLTableCellElement): string {
    const before = [...(cell.parentElement?.children ?? [])].slice(0, cell.cellIndex);
    const at = before.reduce((sum, each) => sum + (each as HTMLTableCellElement).colSpan, 0);
    return table.tHead?.rows[0]?.cells[at]?.textContent.trim() ?? `column ${String(at + 1)}`;
  }

  /** The label of a cell in a card, if what the cell holds has not left it its place. */
  function cutLabel(cell: HTMLTableCellElement): string | undefined {
    const { content, marginLeft } = getComputedStyle(cell, '::before');
    if (content === 'none') return undefined;
    const room = Number.parseFloat(getComputedStyle(cell).paddingLeft) + Number.parseFloat(marginLeft);
    return room < 0 ? content : undefined;
  }

  /** The first of its texts that is not all there. */
  function cutText(cell: HTMLTableCellElement): string | undefined {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const parent = node.parentElement;
      if (!parent?.checkVisibility() || parent.closest('.visually-hidden') || node.nodeValue?.trim() === '') continue;
      const [left, right] = visiblePart(parent);
      const range = document.createRange();
      range.selectNodeContents(node);
      const isCut = [...range.getClientRects()].some(
        (box) => box.width > 0 && (box.left < left - tolerance || box.right > right + tolerance),
      );
      if (isCut) return node.nodeValue?.trim().slice(0, 40);
    }
    return undefined;
  }

  /** From left to right, what its cell and the boxes and the window around it let through. */
  function visiblePart(element: HTMLElement): [left: number, right: number] {
    let [left, right] = [0, document.documentElement.clientWidth];
    for (let each: HTMLElement | null = element; each; each = each.parentElement) {
      const clips = each.matches('td, th') || getComputedStyle(each).overflowX !== 'visible';
      if (!clips || getComputedStyle(each).display === 'inline') continue;
      const box = each.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    }
    return [left, right];
  }
}
