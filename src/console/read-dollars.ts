import { cents as centsOf } from '../domain/cents.ts';

/** Whole cents from dollars as people type them. @returns null for an empty field, undefined for anything else */
export function readDollars(text: string): number | null | undefined {
  const trimmed = text.trim().replace(/^\$/, '').replaceAll(',', '');
  if (trimmed === '') return null;
  const [, dollars, fraction = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(trimmed) ?? [];
  if (dollars === undefined) return undefined;
  const amount = centsOf.safeParse(Number(dollars) * 100 + Number(fraction.padEnd(2, '0')));
  return amount.success ? amount.data : undefined;
}
