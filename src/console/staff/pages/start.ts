import { html } from '../../../documents/html.ts';
import { page } from '../../visit.ts';
import type { Answer } from '../../visit.ts';

export function show(): Answer {
  return page({
    title: 'Search',
    section: 'search',
    content: html`<p class="lead">The box at the side finds whatever a customer names.</p>`,
  });
}
