import { type Signal, signal } from '@preact/signals';
import htm from 'htm';
import { h, render } from 'preact';
import { followWhileSeen } from './live-source.ts';
import { type Change, Status } from './status.ts';

/**
 * Downloads that are not finished, as they go on. The page names their tokens; the server sends each change. When one of them
 * ends, its row says so; the page of a single download is loaded again, with its file.
 */

const html = htm.bind(h);

interface Followed {
  place: HTMLElement;
  shown: Signal<Change | undefined>;
}

const followed = new Map<string, Followed>(
  [...document.querySelectorAll<HTMLElement>('[data-live]')].map((place) => [
    place.dataset['live'] ?? '',
    { place, shown: signal<Change | undefined>(undefined) },
  ]),
);

/** The server's own content of a place stays until the first change; from then on Preact keeps it up to date by itself. */
function show({ place, shown }: Followed, change: Change): void {
  const isFirst = shown.value === undefined;
  shown.value = change;
  if (!isFirst) return;
  const Live = () => (shown.value ? html`<${Status} change=${shown.value} />` : null);
  place.replaceChildren();
  render(html`<${Live} />`, place);
}

function follow(): void {
  const tokens = [...followed.keys()];
  if (tokens.length === 0) return;
  const change = (data: unknown) => {
    const { token, status } = data as Change;
    const place = followed.get(token);
    if (place) show(place, data as Change);
    const hasEnded = status === 'done' || status === 'failed';
    if (hasEnded && document.querySelector('[data-reload-at-end]')) location.reload();
  };
  const address = `/console/downloads/live?${tokens.map((token) => `token=${token}`).join('&')}`;
  followWhileSeen({ addressAfter: () => address, on: { change } });
}

follow();
