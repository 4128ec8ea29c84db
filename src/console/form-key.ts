import { type Html, html } from '../documents/html.ts';
import { badInput, type Visit } from './visit.ts';

/** A form that spends or creates has a key of its own: sent again, it gets the answer of the first time. */
export const formKeyField = (key: string): Html => html`<input type="hidden" name="form_key" value="${key}" />`;

/** The key of the form that was sent; undefined from a program that sends none. @throws {PageRefusal} if it is none of ours */
export function formKeyOf({ form }: Visit): string | undefined {
  const key = form.get('form_key') ?? undefined;
  if (key !== undefined && !/^[0-9a-f-]{36}$/.test(key)) throw badInput('The form is not one of this page. Reload it.');
  return key;
}
