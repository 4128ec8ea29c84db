import { type Html, html } from '../documents/html.ts';
import { cents as centsOf } from '../domain/cents.ts';
import { note } from './parts.ts';
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

/** A form that changes something. @param action where it is sent */
export const postForm = (session: Pick<SiteSession, 'formToken'>, action: string, content: Html): Html =>
  html`<form method="post" action="${action}" class="stack">${formTokenField(session)} ${content}</form>`;

/** Something that is done rarely, behind its name. */
export const folded = (name: string | Html, content: Html): Html =>
  html`<details>
    <summary>${name}</summary>
    ${content}
  </details>`;

/** The note that follows a form and its redirect. @param done its texts, by the name in the address */
export const doneNote = ({ query }: Visit, done: Readonly<Record<string, string>>): Html | false => {
  const told = Object.entries(done).find(([name]) => name === query.get('done'))?.[1];
  return told !== undefined && note('good', told);
};

export type Choice = string | readonly [value: string, text: string];

/** A list to choose from. @param current what is chosen; label: for people who do not see what it is about */
export const choices = (
  name: string,
  current: string | null | undefined,
  all: readonly Choice[],
  label?: string,
): Html =>
  html`<select name="${name}" ${label !== undefined && html`aria-label="${label}"`}>
    ${all.map((choice) => {
      const [value, text] = typeof choice === 'string' ? [choice, choice] : choice;
      return html`<option value="${value}" ${value === (current ?? '') && html`selected`}>${text}</option>`;
    })}
  </select>`;

export const choiceField = (
  label: string,
  name: string,
  current: string | null | undefined,
  all: readonly Choice[],
): Html => html`<label>${label} ${choices(name, current, all)}</label>`;

/** Whole cents from dollars as people type them. @returns null for an empty field, undefined for anything else */
export function readDollars(text: string): number | null | undefined {
  const trimmed = text.trim().replace(/^\$/, '').replaceAll(',', '');
  if (trimmed === '') return null;
  const [, dollars, fraction = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(trimmed) ?? [];
  if (dollars === undefined) return undefined;
  const amount = centsOf.safeParse(Number(dollars) * 100 + Number(fraction.padEnd(2, '0')));
  return amount.success ? amount.data : undefined;
}
