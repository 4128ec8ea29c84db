import { type Html, html } from '../../../documents/html.ts';
import { choiceField } from '../../form-fields.ts';
import { amountCell, bar, empty, figures, listTable, money, note, plotFigure, statusTag, time } from '../../parts.ts';
import { type Answer, page } from '../../visit.ts';

/** The tokens and parts that pages are made of. Nothing on it is anybody's data. */
export function show(): Answer {
  const instant = '2026-11-24T10:15:00.000Z';
  const series = [{ label: 'Downloads a day', token: 'accent', values: [3, 8, 5, 0, 9, 12, 7] }];
  const days = series[0]?.values.map((_value, index) => 1_795_478_400 + index * 86_400);
  return page({
    title: 'Design',
    islands: ['plot'],
    content: html`<p>The tokens and parts of this console, in light and in dark as the reader's system prefers.</p>
      <h2>Colours</h2>
      <div class="swatches">${colours.map(swatch)}</div>
      <h2>Type</h2>
      <p class="lead">A lead says what matters.</p>
      <p>
        Text is set in the system's own face. <span class="soft">Details are softer.</span> <code>rtk_…</code> is code.
        <a href="#top">A link</a>.
      </p>
      <h2>Space</h2>
      <p class="soft">0.25, 0.5, 0.75, 1, 1.5 and 2.25 rem.</p>
      <h2>Figures</h2>
      ${figures([
        {
          name: 'Downloads',
          value: '1,204',
          of: 'of 2,000 in the plan',
          bar: bar('Downloads', 1_204, 2_000),
          details: ['796 left'],
        },
        {
          name: 'Overage',
          value: money(1_250),
          of: 'for 50 downloads',
          bar: bar('Cap', 1_250, 1_250),
          details: ['The cap is reached'],
        },
      ])}
      <h2>Plot</h2>
      ${plotFigure({ days, series }, 'Downloads of each day')}
      <h2>Table</h2>
      ${listTable('Example', ['queued', 'running', 'done', 'failed'] as const, {
        Queued: () => time(instant),
        State: statusTag,
        Cost: amountCell(() => 25),
      })}
      <h2>Timeline</h2>
      <ol class="timeline">
        <li>
          <p><strong>Charged</strong> $0.25</p>
          <p class="when">${time(instant)}</p>
        </li>
        <li class="bad">
          <p><strong>Failed:</strong> the video is private</p>
          <p class="when">${time(instant)}</p>
        </li>
      </ol>
      <h2>Notes</h2>
      ${(['info', 'good', 'warn', 'bad'] as const).map((kind) => note(kind, `A note of the kind ${kind}.`))}
      <h2>Empty, waiting, failed</h2>
      ${empty(html`<p>Nothing yet, and what to do about it.</p>`)}
      <p><progress max="100" aria-label="Waiting"></progress></p>
      ${note('bad', 'What happened, and what to do.')}
      <h2>Form</h2>
      <form class="stack" method="get" action="/console/design">
        <label>A field <input name="field" /></label>
        ${choiceField('A choice', 'choice', 'one', ['one', 'two'])}
        <label class="inline"><input type="checkbox" name="box" /> A box</label>
        <p class="pages">
          <button>Do it</button> <button class="second" type="button">Another way</button>
          <button class="danger" type="button">Cannot be undone</button>
        </p>
      </form>`,
  });
}

const colours = [
  'ink',
  'ink-soft',
  'paper',
  'panel',
  'line',
  'line-strong',
  'accent',
  'accent-soft',
  'warn',
  'warn-soft',
  'bad',
  'bad-soft',
  'info',
  'info-soft',
  'focus',
];

const swatch = (name: string): Html =>
  html`<div class="swatch">
    <svg class="swatch-colour" width="100%" height="40" aria-hidden="true">
      <rect class="colour-${name}" width="100%" height="100%"></rect></svg
    >${name}
  </div>`;
