import './unsent-forms.ts';

/** On every page: the reader's own time beside UTC, and the keyboard. All of it is an addition; pages work without. */

function showLocalTimes(): void {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const isUtc = ['UTC', 'Etc/UTC'].includes(format.resolvedOptions().timeZone);
  for (const element of document.querySelectorAll('time[datetime*="T"]')) {
    const local = format.format(new Date(element.getAttribute('datetime') ?? ''));
    element.setAttribute('title', `${local}, your time`);
    if (isUtc || !element.matches('[data-both], .when time, .facts time')) continue;
    const beside = document.createElement('span');
    beside.className = 'local';
    beside.textContent = ` (${local} here)`;
    element.after(beside);
  }
}

let isGoing = false;

function onKey(event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof Element && target.closest('input, select, textarea, dialog[open]')) return;
  if (isGoing) {
    isGoing = false;
    document.querySelector<HTMLAnchorElement>(`.menu a[data-go="${CSS.escape(key)}"]`)?.click();
    return;
  }
  const act = actions[key] ?? actionOfPage(key);
  if (!act) return;
  event.preventDefault();
  act();
}

/** Links of a page may have a key of their own. */
function actionOfPage(key: string): (() => void) | undefined {
  const link = document.querySelector<HTMLAnchorElement>(`a[data-key="${CSS.escape(key)}"]`);
  return link ? () => link.click() : undefined;
}

const actions: Readonly<Record<string, () => void>> = {
  g: () => {
    isGoing = true;
    setTimeout(() => (isGoing = false), 1_500);
  },
  '/': search,
  '?': showHelp,
  j: () => moveRow(1),
  k: () => moveRow(-1),
};

function search(): void {
  const field = document.querySelector<HTMLInputElement>('input[type="search"]');
  if (field) field.select();
  else location.assign('/console/downloads#search');
}

function showHelp(): void {
  document.querySelector<HTMLDialogElement>('#keyboard-help')?.showModal();
}

/** Rows with a link are walked through; Enter opens the link, because it has the focus. */
function moveRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('a[data-row]')].filter((link) =>
    link.checkVisibility(),
  );
  const at = links.findIndex((link) => link === document.activeElement);
  const next = links[at < 0 && by < 0 ? links.length - 1 : Math.max(0, Math.min(links.length - 1, at + by))];
  for (const row of document.querySelectorAll('tr.current, li.current')) row.classList.remove('current');
  next?.closest('tr, li')?.classList.add('current');
  next?.focus();
}

document.addEventListener('keydown', onKey);
const help = document.querySelector<HTMLButtonElement>('[data-help]');
if (help) {
  help.hidden = false;
  help.addEventListener('click', showHelp);
}
// Going back to the answer to a form, or reloading it, shows it again, or the page that has the form.
const { answer } = document.body.dataset;
if (answer !== undefined) history.replaceState(null, '', answer === '' ? location.href : answer);
// A page from the memory of the browser may be of a session that has ended.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
// Browsers keep the fragment of an address over the way to the sign-in; the server never gets it.
const next = document.querySelector<HTMLInputElement>('input[name="next"]');
if (next && /^#[\w-]+$/.test(location.hash)) next.value += location.hash;
if (location.hash === '#search') document.querySelector<HTMLInputElement>('input[type="search"]')?.focus();
showLocalTimes();
