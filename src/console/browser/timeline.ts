/** The timeline of a download: the key `e` opens the data of the step that is walked to, and a text filters the steps. */

const steps = () => document.querySelectorAll<HTMLElement>('[data-step]');

document.addEventListener('keydown', (event) => {
  const { target, key } = event;
  if (key !== 'e' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!(target instanceof Element) || target.closest('input, select, textarea, dialog[open]')) return;
  const data = target.closest('[data-step]')?.querySelector<HTMLDetailsElement>('details.payload');
  if (data) data.open = !data.open;
});

function filterBy(text: string): void {
  const wanted = text.trim().toLowerCase();
  for (const step of steps()) step.hidden = !step.textContent.toLowerCase().includes(wanted);
  for (const fold of document.querySelectorAll<HTMLElement>('.folded')) {
    const isShown = [...fold.querySelectorAll<HTMLElement>('[data-step]')].some((step) => !step.hidden);
    fold.hidden = !isShown;
    const details = fold.querySelector('details');
    if (details && wanted !== '' && isShown) details.open = true;
  }
}

const filter = document.querySelector<HTMLElement>('[data-text-filter]');
if (filter) {
  filter.hidden = false;
  filter.addEventListener('input', () => filterBy(filter.querySelector('input')?.value ?? ''));
}
