/**
 * A form that was sent after its session had ended is there again once its reader has signed in, as it was typed. Until then this
 * browser alone keeps it; after an hour, or after signing out, it is removed by the next page.
 */

import { reader } from './one-account.ts';

type Field = readonly [name: string, value: string];

interface Sent {
  reader: string;
  /** Path of the page that has the form. */
  page: string;
  action: string;
  fields: Field[];
  /** What the page has put into it: which of several forms with one action it is. */
  hidden: Field[];
  atMs: number;
}

/** Of this tab: what it has just sent. Of the browser: what was not carried out, because the link of a mail opens another tab. */
const justSent = 'reeltally sent form';
const notSent = 'reeltally form that was not sent';
const keptMs = 3_600_000;

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** What people have typed or chosen; none of what a page has put into its form. */
const controlsOf = (form: HTMLFormElement): Control[] =>
  [...form.querySelectorAll<Control>('input[name], select[name], textarea[name]')].filter(
    ({ type }) => type !== 'hidden' && type !== 'search',
  );

/** Made anew for each page. */
const changing = ['form_token', 'form_key', 'correction_id'];

const hiddenOf = (form: HTMLFormElement): Field[] =>
  [...form.querySelectorAll<HTMLInputElement>('input[type="hidden"][name]')]
    .filter(({ name }) => !changing.includes(name) && !name.startsWith('shown'))
    .map(({ name, value }) => [name, value] as const);

const hasState = (control: Control): control is HTMLInputElement =>
  control.type === 'radio' || control.type === 'checkbox';

function keep(form: HTMLFormElement): void {
  const fields = controlsOf(form)
    .filter((control) => !hasState(control) || control.checked)
    .map(({ name, value }) => [name, value] as const);
  if (form.method !== 'post' || fields.length === 0 || reader === undefined) return;
  const action = form.getAttribute('action') ?? '';
  const sent: Sent = { reader, page: location.pathname, action, fields, hidden: hiddenOf(form), atMs: Date.now() };
  sessionStorage.setItem(justSent, JSON.stringify(sent));
}

/** After the answer to a form: one that says that the form was not sent leaves it for later. */
function look(): void {
  const sent = sessionStorage.getItem(justSent);
  sessionStorage.removeItem(justSent);
  if (sent !== null && document.querySelector('[data-not-sent]')) localStorage.setItem(notSent, sent);
  const kept = localStorage.getItem(notSent);
  if (kept === null) return;
  const form = JSON.parse(kept) as Sent;
  const isOld = Date.now() - form.atMs > keptMs || new URLSearchParams(location.search).get('done') === 'out';
  if (isOld || (reader === form.reader && fill(form))) localStorage.removeItem(notSent);
}

/** @returns whether the page has the form */
function fill({ page, action, fields, hidden }: Sent): boolean {
  const form = [...document.forms].find(
    (each) => each.getAttribute('action') === action && JSON.stringify(hiddenOf(each)) === JSON.stringify(hidden),
  );
  if (page !== location.pathname || !form) return false;
  const left = [...fields];
  for (const control of controlsOf(form)) {
    const at = left.findIndex(
      ([name, value]) => name === control.name && (!hasState(control) || value === control.value),
    );
    const [, value = ''] = at < 0 ? [] : (left.splice(at, 1)[0] ?? []);
    if (hasState(control)) control.checked = at >= 0;
    else if (at >= 0) control.value = value;
  }
  const note = document.createElement('p');
  note.className = 'note info';
  note.setAttribute('role', 'status');
  note.textContent = 'This form was not sent, because you were signed out. It is as you typed it: send it again.';
  form.prepend(note);
  for (let folded = form.closest('details'); folded; folded = folded.parentElement?.closest('details') ?? null)
    folded.open = true;
  form.scrollIntoView();
  return true;
}

document.addEventListener('submit', ({ target }) => {
  if (target instanceof HTMLFormElement) keep(target);
});
try {
  look();
} catch {
  // A browser that keeps nothing for pages, or something else's text: forms work without.
}
