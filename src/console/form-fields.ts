import { type Html, html } from '../documents/html.ts';
import { cents as centsOf } from '../domain/cents.ts';
import { noteAnchor, outcomeNote } from './parts.ts';
import type { SiteSession } from './site.ts';
import { badInput, type SignedInVisit, type Visit } from './visit.ts';

/** Every form that changes something has it. */
export const formTokenField = ({ formToken }: Pick<SiteSession, 'formToken'>): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}" />`;

/** A form that spends or creates has a key of its own: sent again, it gets the answer of the first time. */
export const formKeyField = (key: string): Html => html`<input type="hidden" name="form_key" value="${key}" />`;

/** The key of the form that was sent; undefined from a program that sends none. @throws {PageRefusal} if it is none of ours */
export function formKeyOf({ form }: Visit): string | undefined {
  const key = form.get('form_key') ?? undefined;
  if (key !== undefined && !/^[0-9a-f-]{36}$/.test(key))
    throw badInput('The form is not one of this page. Open the page anew and send its form.');
  return key;
}

type FormVisit = Pick<SignedInVisit<Pick<SiteSession, 'formToken'>>, 'session' | 'form' | 'refused'>;

/** What was typed into a field of a form that was refused; undefined for a form that is shown first. */
export type Typed = (field: string) => string | undefined;

const isRefusedAt = ({ refused }: Pick<Visit, 'refused'>, action: string): boolean => refused?.action === action;

export const typedInto =
  (visit: Pick<Visit, 'form' | 'refused'>, action: string): Typed =>
  (field) =>
    isRefusedAt(visit, action) ? (visit.form.get(field) ?? '') : undefined;

/** Why a form was refused, for the place where it stands. */
export const refusalNote = (visit: Pick<Visit, 'refused'>, action: string): Html | false =>
  isRefusedAt(visit, action) && outcomeNote('bad', visit.refused?.message ?? '');

/** Why the address of a list was refused; it stands above the form of its filters, which has what was typed. */
export const filterNote = ({ refused }: Pick<Visit, 'refused'>): Html | false =>
  refused !== undefined && outcomeNote('bad', refused.message.charAt(0).toUpperCase() + refused.message.slice(1));

/** What a form of filters has sent, good or not. */
export const sentFilters = ({ query }: Pick<Visit, 'query'>): Readonly<Record<string, string>> =>
  Object.fromEntries(query);

/** A form that changes something. @param action where it is sent; content: its fields, with what was typed where it was refused */
export const postForm = (visit: FormVisit, action: string, content: (typed: Typed) => Html): Html =>
  html`<form method="post" action="${action}#${noteAnchor}" class="stack">
    ${refusalNote(visit, action)} ${formTokenField(visit.session)} ${content(typedInto(visit, action))}
  </form>`;

/** Something that is done rarely, behind its name. */
export const folded = (name: string | Html, content: Html, { isOpen = false } = {}): Html =>
  html`<details ${isOpen && html`open`}>
    <summary>${name}</summary>
    ${content}
  </details>`;

/** A form behind its name; it stands open where it was refused. */
export const foldedForm = (
  visit: FormVisit,
  action: string,
  { name, content }: { name: string | Html; content: (typed: Typed) => Html },
): Html => folded(name, postForm(visit, action, content), { isOpen: isRefusedAt(visit, action) });

/** The note that follows a form and its redirect. @param done its texts, by the name in the address */
export const doneNote = ({ query }: Visit, done: Readonly<Record<string, Html | string>>): Html | false => {
  const told = Object.entries(done).find(([name]) => name === query.get('done'))?.[1];
  return told !== undefined && outcomeNote('good', told);
};

/** The address that a form leads to when it is carried out. @param done a name of `doneNote` */
export const doneAt = (path: string, done: string): string => `${path}?done=${done}#${noteAnchor}`;

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

/** Dollars as people type them. @param cents null for none */
export const dollarsText = (cents: number | null): string => (cents === null ? '' : (cents / 100).toFixed(2));

/** Commas stand between thousands alone: of `12,50` nobody can say what it means. As text, for browsers too. */
const dollarsPattern = '[$]?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,10})(?:[.]([0-9]{1,2}))?';

/** An amount, which may be left out; its title is what browsers say of anything else. */
export const dollarsField = (label: string, value: string): Html =>
  html`<label
    >${label}
    <input
      name="dollars"
      inputmode="decimal"
      autocomplete="off"
      pattern="${dollarsPattern}"
      title="an amount such as 25 or 12.50"
      value="${value}"
  /></label>`;

/** Whole cents from dollars as people type them. @returns null for an empty field, undefined for anything else */
export function readDollars(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  const [, dollars, fraction = ''] = new RegExp(`^${dollarsPattern}$`).exec(trimmed) ?? [];
  if (dollars === undefined) return undefined;
  const amount = centsOf.safeParse(Number(dollars.replaceAll(',', '')) * 100 + Number(fraction.padEnd(2, '0')));
  return amount.success ? amount.data : undefined;
}
