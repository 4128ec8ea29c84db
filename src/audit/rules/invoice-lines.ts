import type { Link, Terms } from './event-schemas.ts';

/** A line of an invoice. Its kind decides which further fields it has. */
export type Line = { kind: string; cents: number } & Readonly<Record<string, unknown>>;

type Source = Pick<Link, 'stream' | 'revision' | 'id'> & { metadata: Pick<Link['metadata'], 'hash'> };

/** How a line names the event that it comes from. */
export const sourceOf = ({ stream, revision, id, metadata: { hash } }: Source) => ({ stream, revision, id, hash });

/** Nothing is due for a period that begins while its account is suspended. */
export const feeOf = ({ suspended, fee_cents }: Terms): number => (suspended === true ? 0 : fee_cents);

/** The monthly fee of the period that an event opens or announces. */
export function feeLine(event: Source, period: Pick<Link['data'], 'terms' | 'period_start' | 'period_end'>): Line {
  const { terms, period_start, period_end } = period;
  return { kind: 'fee', plan: terms.plan, period_start, period_end, cents: feeOf(terms), event: sourceOf(event) };
}

/**
 * Writes revisions as a line does: each range has its first revision, its last and the step between. 1, 3, 5, 8 are 1 to 5 in
 * steps of 2, and 8.
 *
 * @param most if there would be more ranges, one range covers everything from the first revision to the last
 */
export function rangesOf(revisions: readonly number[], most: number): Range[] {
  const ranges: Range[] = [];
  for (const revision of revisions) {
    const newest = ranges.at(-1);
    if (newest && (newest[0] === newest[1] || revision - newest[1] === newest[2]))
      ranges.splice(-1, 1, [newest[0], revision, revision - newest[1]]);
    else ranges.push([revision, revision, 1]);
  }
  return ranges.length > most ? [[...revisions.slice(0, 1), ...revisions.slice(-1), 1] as unknown as Range] : ranges;
}

type Range = [first: number, last: number, step: number];
