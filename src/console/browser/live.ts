import htm from 'htm';
import { h, render } from 'preact';
import { signal } from '@preact/signals';

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

const places = [...document.querySelectorAll<HTMLElement>('[data-live]')];
const changes = new Map(
  places.map((place) => {
    const shown = signal<Change | undefined>(undefined);
    const Live = () => (shown.value ? html`<${Status} change=${shown.value} />` : null);
    shown.subscribe((change) => {
      if (!change) return;
      place.replaceChildren();
      render(html`<${Live} />`, place);
    });
    return [place.dataset['live'] ?? '', shown] as const;
  }),
);

function follow(): void {
  const tokens = [...changes.keys()];
  if (tokens.length === 0) return;
  const source = new EventSource(`/console/downloads/live?${tokens.map((token) => `token=${token}`).join('&')}`);
  source.addEventListener('change', ({ data }: MessageEvent<string>) => {
    const change = JSON.parse(data) as Change;
    const shown = changes.get(change.token);
    if (shown) shown.value = change;
    const hasEnded = change.status === 'done' || change.status === 'failed';
    if (hasEnded && document.querySelector('[data-reload-at-end]')) location.reload();
  });
  // The server has nothing more to tell: a browser would ask again for ever.
  source.addEventListener('end', () => source.close());
}

follow();
