import htm from 'htm';
import { h } from 'preact';

/** The state of a download that goes on. */

export interface Change {
  token: string;
  status: string;
  percent: number | null;
  speed: string | null;
  eta: string | null;
}

const html = htm.bind(h);
const kinds: Readonly<Record<string, string>> = { done: 'good', failed: 'bad' };

export function Status({ change }: { change: Change }) {
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
