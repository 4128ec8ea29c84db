import htm from 'htm';
import { h, render } from 'preact';
import { followWhileSeen } from './live-source.ts';
import { type Change, Status } from './status.ts';

/**
 * The timeline of a download: the key `e` opens the data of the step that is walked to, a text filters the steps, and a download
 * that goes on is followed.
 */

const html = htm.bind(h);

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

interface Step {
  id: string;
  path: string;
  title: string;
  text: string;
  amounts: string;
  when: string;
}

function append(list: HTMLElement, { id, path, title, text, amounts, when }: Step): void {
  if (document.getElementById(`event-${id}`)) return;
  const item = document.createElement('li');
  item.id = `event-${id}`;
  item.dataset['step'] = '';
  render(
    html`<p>
        <a data-row href=${path}><strong>${title}</strong></a> ${text} <span class="amounts">${amounts}</span>
      </p>
      <p class="when">${when}</p>`,
    item,
  );
  list.append(item);
}

function follow(list: HTMLElement): void {
  const { follow: address = '', after = '0' } = list.dataset;
  const state = document.querySelector('[data-state]');
  const change = (data: unknown) => {
    if (!state) return;
    // What the server wrote is no part of what Preact keeps up to date.
    if (state.querySelector('[data-status]')) state.replaceChildren();
    render(html`<${Status} change=${data as Change} />`, state);
  };
  followWhileSeen({
    addressAfter: (lastStep) => `${address}?after=${lastStep === '' ? after : lastStep}`,
    on: { step: (data) => append(list, data as Step), change },
    onEnd: renew,
  });
}

/** Its file, the time that it took and its answer are those of the page as it is now. The timeline stays as it is walked through. */
function renew(): void {
  const request = new XMLHttpRequest();
  request.responseType = 'document';
  request.open('GET', location.href);
  request.addEventListener('load', () => {
    for (const part of document.querySelectorAll('[data-renewed]')) {
      const now = request.responseXML?.getElementById(part.id);
      if (now) part.replaceWith(now);
    }
  });
  request.send();
}

const list = document.querySelector<HTMLElement>('[data-follow]');
if (list) follow(list);
