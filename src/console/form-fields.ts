import { type Html, html } from '../documents/html.ts';
import { cents as centsOf } from '../domain/cents.ts';
import type { SiteSession } from './site.ts';
import { badInput, type Visit } from './visit.ts';

/** Every form that changes something has it. */
export const formTokenField = ({ formToken }: Pick<SiteSession, 'formToken'>): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}" />`;

/** A form that spends or creates has a key of its own: sent again, it gets the answer of the first time. */
export const formKeyField = (key: string): Html => html`<input type="hidden" name="form_key" value="${key}" />`;

/** The key of the form that was sent; undefined from a program that sends none. @throws {PageRefusal} if it is none of ours */
export function formKeyOf({ form }: Visit): string | undefined {
  const key = form.get('form_key') ?? undefined;
  if (key !== undefined && !/^[0-9a-f-]{36}$/.test(key)) throw badInput('The form is not one of this page. Reload it.');
  return key;
}

/** Whole cents from dollars as people type them. @returns null for an empty field, undefined for anything else */
export function readDollars(text: string): number | null | undefined {
  const trimmed = text.trim().replace(/^\$/, '').replaceAll(',', '');
  if (trimmed === '') return null;
  const [, dollars, fraction = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(trimmed) ?? [];
  if (dollars === undefined) return undefined;
  const amount = centsOf.safeParse(Number(dollars) * 100 + Number(fraction.padEnd(2, '0')));
  return amount.success ? amount.data : undefined;
}
