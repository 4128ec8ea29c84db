import htm from 'htm';
import { h, render } from 'preact';
import { signal } from '@preact/signals';
import type { Signal } from '@preact/signals';

/**
 * Downloads that are not finished, as they go on. The page names their tokens; the server sends each change. When one of them
 * ends, its row says so; the page of a single download is loaded again, with its file.
 */

interface Change {
  token: string;
  status: string;
  percent: number | null;
  speed: string | null;
  eta: string | null;
}

const html = htm.bind(h);
const kinds: Readonly<Record<string, string>> = { done: 'good', failed: 'bad' };

function Status({ change }: { change: Change }) {
  const { status, percent, speed, eta } = change;
  const details = [percent === null ? null : `${percent.toFixed(0)} %`, speed, eta].filter((part) => part !== null);
  return html`<span class="tag ${kinds[status] ?? 'info'}">${status}</span>${
      details.length > 0 ? html`<span class="soft"> ${details.join(', ')}</span>` : null
    }
    ${
      status === 'running' && percent !== null
        ? html`<progress max="100" value=${percent} aria-label="downloaded"></progress>`
        : null
    }`;
}

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
  const source = new EventSource(`/console/downloads/live?${tokens.map((token) => `token=${token}`).join('&')}`);
  source.addEventListener('change', ({ data }: MessageEvent<string>) => {
    const change = JSON.parse(data) as Change;
    const place = followed.get(change.token);
    if (place) show(place, change);
    const hasEnded = change.status === 'done' || change.status === 'failed';
    if (hasEnded && document.querySelector('[data-reload-at-end]')) location.reload();
  });
  // The server has nothing more to tell: a browser would ask again for ever.
  source.addEventListener('end', () => source.close());
}

follow();
