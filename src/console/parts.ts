import {
  type Column,
  type Columns,
  columnTable,
  type Content,
  type Foot,
  Html,
  html,
  numberCell,
} from '../documents/html.ts';
import { formatCents } from '../domain/cents.ts';
import type { Job } from '../domain/download-job.ts';
import type { Actor } from '../domain/parse-event.ts';

/** The parts that pages are made of; /console/design shows each of them. */

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;

/** Such as `Thu 2026-11-26 09:15`. @param characters of the instant that are shown */
const withWeekday = (instant: string, characters: number): string =>
  `${weekdays[new Date(instant).getUTCDay()] ?? ''} ${instant.slice(0, characters).replace('T', ' ')}`;

/** An instant in UTC; a script adds the reader's own time beside it. @param instant UTC ISO-8601 */
export const time = (instant: string): Html => html`<time datetime="${instant}">${withWeekday(instant, 16)} UTC</time>`;

/** To the second, for lists in which many things happen within a minute. @param instant UTC ISO-8601 */
export const timeToTheSecond = (instant: string): Html =>
  html`<time datetime="${instant}">${withWeekday(instant, 19)} UTC</time>`;

/** To the millisecond, for people who compare events. @param instant UTC ISO-8601 */
export const exactTime = (instant: string): Html =>
  html`<time datetime="${instant}">${withWeekday(instant, 23)} UTC</time>`;

/** How long something took. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 60) return `${seconds.toFixed(3)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)} min ${(seconds % 60).toFixed(0)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${String(hours)} h ${String(minutes % 60)} min` : `${String(Math.floor(hours / 24))} days`;
}

export const actorText = (actor: Actor): Html =>
  actor.type === 'api_key' ? html`the key <code>${actor.id}</code>` : html`${actor.type} <code>${actor.id}</code>`;

/** A calendar day in UTC. */
export const day = (instant: string): Html =>
  html`<time datetime="${instant.slice(0, 10)}">${withWeekday(instant, 10)}</time>`;

/** US dollars, with separators of thousands. */
export const money = (cents: number): string => formatCents(cents).replaceAll(/\B(?=(?:\d{3})+\.)/g, ',');

export const count = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');

/** The name of what a row is about. */
export const rowName = <Row>(content: (row: Row) => Content): Column<Row> => ({ kind: 'name', content });

export const countCell = <Row>(value: (row: Row) => number): Column<Row> => numberCell((row) => count(value(row)));

/** @param cents of a row, which `summedTable` sums up */
export const amountCell = <Row>(cents: (row: Row) => number): Column<Row> & { cents: (row: Row) => number } => ({
  ...numberCell((row: Row) => money(cents(row))),
  cents,
});

/** The actions of a row, in a column that needs no head for those who see it. */
export const actionCell = <Row>(content: (row: Row) => Content): Column<Row> => ({
  head: (name) => html`<span class="visually-hidden">${name}</span>`,
  kind: 'action',
  content,
});

export interface Listing {
  /** For people who do not see the table. */
  name: string;
  /** Stands in the place of a table without rows. */
  none?: Html;
  foot?: Foot;
}

/** A table of things, a row of each: where its box is too narrow for its columns, each row is a card. */
export function listTable<Row>(listing: string | Listing, rows: readonly Row[], columns: Columns<Row>): Html {
  const { name, none, foot }: Listing = typeof listing === 'string' ? { name: listing } : listing;
  if (rows.length === 0 && none) return none;
  const shown = Object.values(columns).filter((column) => column !== false).length;
  const width = shown <= 4 ? 'few' : shown <= 7 ? 'some' : 'many';
  return html`<div class="scroll ${width}" role="region" aria-label="${name}" tabindex="0">
    ${columnTable(rows, columns, foot)}
  </div>`;
}

export type Fact = readonly [name: string, value: Html | string, attributes?: Html | false];

/** The facts of one thing. @param all false: a fact that it does not have */
export const facts = (all: readonly (Fact | false)[]): Html =>
  html`<dl class="facts">
    ${all.map(
      (fact) =>
        fact &&
        html`<dt>${fact[0]}</dt>
          <dd ${fact[2]}>${fact[1]}</dd>`,
    )}
  </dl>`;

export const empty = (content: Html): Html => html`<div class="empty">${content}</div>`;

type NoteKind = 'info' | 'good' | 'warn' | 'bad';

export const note = (kind: NoteKind, content: Html | string, attributes?: Html): Html =>
  html`<div class="note ${kind}" ${kind === 'bad' && new Html('role="alert"')} ${attributes}><p>${content}</p></div>`;

/** A note of several points. A paragraph holds no list. */
export const listNote = (kind: NoteKind, points: readonly Html[]): Html =>
  html`<div class="note ${kind}" ${kind === 'bad' && new Html('role="alert"')}>
    <ul>
      ${points.map((point) => html`<li>${point}</li>`)}
    </ul>
  </div>`;

/** Where forms and the redirects behind them lead: browsers scroll to it and give it the focus. */
export const noteAnchor = 'told';

/** What has become of a form, in the section that the form is about; a page has one at most. */
export const outcomeNote = (kind: 'good' | 'bad', content: Html | string): Html =>
  note(kind, content, html`id="${noteAnchor}" tabindex="-1" ${kind === 'good' && html`role="status"`}`);

export interface Figure {
  name: string;
  value: Html | string;
  /** Smaller, behind the value. */
  of?: string;
  details?: readonly (Html | string | undefined)[];
  bar?: Html | false;
}

/** What is used of a limit. @param label of its bar */
export const usedFigure = (
  name: string,
  { used, limit }: { used: number; limit: number },
  { label = name, details = [] }: { label?: string } & Pick<Figure, 'details'> = {},
): Figure => ({ name, value: count(used), of: `of ${count(limit)}`, bar: bar(label, used, limit), details });

export const figures = (shown: readonly Figure[]): Html =>
  html`<div class="figures">
    ${shown.map(
      ({ name, value, of, details = [], bar: drawn }) =>
        html`<section class="figure">
          <h2>${name}</h2>
          <p class="value">${value}${of !== undefined && html` <small>${of}</small>`}</p>
          ${drawn} ${details.map((detail) => detail !== undefined && html`<p>${detail}</p>`)}
        </section>`,
    )}
  </div>`;

/** A bar of what is done of something: to be full is good. */
export const progress = (label: string, done: number, all: number): Html =>
  html`<svg class="bar" role="img" aria-label="${label}: ${count(done)} of ${count(all)}">
    <rect width="${(all === 0 ? 100 : Math.min(100, (done * 100) / all)).toFixed(1)}%" height="100%"></rect>
  </svg>`;

/** A bar of usage: what is used of a limit. */
export function bar(label: string, used: number, limit: number): Html {
  const percent = limit === 0 ? (used > 0 ? 100 : 0) : Math.min(100, (used * 100) / limit);
  return html`<svg class="bar" role="img" aria-label="${label}: ${count(used)} of ${count(limit)}">
    <rect width="${percent.toFixed(1)}%" height="100%" class="${used >= limit && 'over'}"></rect>
  </svg>`;
}

/** A plot, in the place of which a script draws. @param plotted as `browser/plot.ts` reads it */
export const plotFigure = (plotted: object, caption: string): Html =>
  html`<figure class="plot" data-plot="${JSON.stringify(plotted)}">
    <figcaption>${caption}</figcaption>
    <div class="canvas"></div>
  </figure>`;

export const tag = (text: string, kind: 'info' | 'good' | 'warn' | 'bad' | '' = ''): Html =>
  html`<span class="tag ${kind}">${text}</span>`;

const statusKinds: Readonly<Record<Job['status'], string>> = {
  queued: 'info',
  claimed: 'info',
  running: 'info',
  done: 'good',
  failed: 'bad',
};

export const statusTag = (status: Job['status']): Html =>
  html`<span class="tag ${statusKinds[status]}" data-status>${status}</span>`;

/** Bytes as people read them. */
export function bytes(size: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const step = size < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(size) / 3));
  return `${(size / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step] ?? ''}`;
}
