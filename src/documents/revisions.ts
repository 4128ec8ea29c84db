/** Revisions as people read them: `3 to 41 step 2, 44`. @param mostRanges the rest is only counted */
export function formatRevisions(
  ranges: readonly (readonly [first: number, last: number, step: number])[],
  mostRanges = Infinity,
): string {
  const shown = ranges.slice(0, mostRanges).map(([first, last, step]) => {
    if (first === last) return String(first);
    return `${String(first)} to ${String(last)}${step === 1 ? '' : ` step ${String(step)}`}`;
  });
  const more = ranges.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${String(more)} more`] : [])].join(', ');
}
