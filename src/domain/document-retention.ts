/**
 * How long invoices and credit notes have to show whom they were for: to the end of the year of the newest one, and so many years
 * more.
 *
 * @param newest time of the account's newest document, UTC ISO-8601; null: it has none
 * @returns UTC ISO-8601; null: not at all
 */
export function documentsUntil(newest: string | null, retentionYears: number): string | null {
  if (newest === null || retentionYears === 0) return null;
  return `${String(Number(newest.slice(0, 4)) + retentionYears + 1)}-01-01T00:00:00.000Z`;
}
