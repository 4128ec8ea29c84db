/** HTML as text: what is put into it is escaped unless it is HTML itself. Small enough that a library would be more to read. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Html | string | number | undefined | false | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function render(content: Content): string {
  if (content === undefined || content === false) return '';
  if (content instanceof Html) return content.text;
  if (typeof content === 'object') return content.map(render).join('');
  return String(content).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

export function html(parts: TemplateStringsArray, ...contents: Content[]): Html {
  return new Html(parts.map((part, index) => part + render(contents[index])).join(''));
}

/** A sentence in which backticks mark code. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** A column of a table other than a plain one. */
export interface Column<Row> {
  /** Default: the name of the column as it is. */
  head?: (name: string) => Html;
  content: (row: Row) => Content;
  /** `name`: what the row is about; `action`: it needs no label. */
  kind?: 'number' | 'name' | 'action';
  /** Of a cell, in HTML. */
  attributes?: (row: Row) => Html | false;
}

/** The columns of a table by their names: what stands in their cells; false for one that it does not have. */
export type Columns<Row> = Readonly<Record<string, ((row: Row) => Content) | Column<Row> | false>>;

/** A row of sums. */
export interface Foot {
  /** Stands below the columns before the first sum. */
  name: string;
  /** By the names of their columns. */
  sums: Readonly<Record<string, Html | string>>;
}

export const numberHead = (name: string | Html): Html => html`<span class="number">${name}</span>`;

/** Of numbers. */
export const numberCell = <Row>(content: (row: Row) => string | Html): Column<Row> => ({
  head: numberHead,
  kind: 'number',
  content,
});

type NamedColumn<Row> = readonly [name: string, column: Column<Row>];

const columnsShown = <Row>(columns: Columns<Row>): NamedColumn<Row>[] =>
  Object.entries(columns).flatMap(([name, column]) =>
    column === false ? [] : [[name, typeof column === 'function' ? { content: column } : column] as const],
  );

/**
 * A table of things, a row of each; nothing where there are none. Each cell has the name of its column as its label, for screens
 * on which a row is a card. Parts have their roles by name: where they are no parts of a table to look at, browsers forget them.
 */
export function columnTable<Row>(rows: readonly Row[], columns: Columns<Row>, foot?: Foot): Html {
  if (rows.length === 0) return html``;
  const shown = columnsShown(columns);
  return html`<table role="table">
    <thead role="rowgroup">
      <tr role="row">
        ${shown.map(([name, { head }]) => html`<th role="columnheader">${head?.(name) ?? name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (row) =>
          html`<tr role="row">
            ${shown.map((column) => cellOf(column, row))}
          </tr>`,
      )}
    </tbody>
    ${foot && footOf(foot, shown)}
  </table>`;
}

/** Without a space inside: a cell without content is empty for style sheets too. */
function cellOf<Row>([name, { kind, content, attributes }]: NamedColumn<Row>, row: Row): Html {
  const label = name !== '' && kind !== 'action' && html`data-label="${name}"`;
  const own = attributes?.(row);
  if (kind === 'name') return html`<th scope="row" role="rowheader" ${label} ${own}>${content(row)}</th>`;
  return html`<td role="cell" ${kind && html`class="${kind}"`} ${label} ${own}>${content(row)}</td>`;
}

function footOf<Row>({ name, sums }: Foot, shown: readonly NamedColumn<Row>[]): Html | false {
  const first = shown.findIndex(([column]) => column in sums);
  if (first === -1) return false;
  return html`<tfoot role="rowgroup">
    <tr role="row">
      ${first > 0 && html`<th scope="row" role="rowheader" colspan="${first}">${name}</th>`}
      ${shown
        .slice(first)
        .map(([column]) => html`<td role="cell" class="number" data-label="${column}">${sums[column]}</td>`)}
    </tr>
  </tfoot>`;
}

/** A table of rows that are made elsewhere. */
export function table(heads: readonly string[], rows: readonly Html[]): Html {
  if (rows.length === 0) return html``;
  return html`<table>
    <thead>
      <tr>
        ${heads.map((head) => html`<th>${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

export const code = (text: string): Html => html`<pre><code>${text}</code></pre>`;
