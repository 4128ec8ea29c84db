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

/** A cell of a table other than a plain one. */
export interface Cell<Row> {
  /** Default: the name of its column as it is. */
  head?: (name: string) => Html;
  cell: (row: Row) => Html;
}

/** The columns of a table by their names: what stands in their cells; false for one that it does not have. */
export type Columns<Row> = Readonly<Record<string, ((row: Row) => Content) | Cell<Row> | false>>;

export const number = (content: string | Html): Html => html`<td class="number">${content}</td>`;

export const numberHead = (name: string | Html): Html => html`<span class="number">${name}</span>`;

/** In a column of numbers. */
export const numberCell = <Row>(content: (row: Row) => string | Html): Cell<Row> => ({
  head: numberHead,
  cell: (row) => number(content(row)),
});

/** A table of things, a row of each; nothing where there are none. @param foot a row of sums */
export function columnTable<Row>(rows: readonly Row[], columns: Columns<Row>, foot?: Html): Html {
  const shown = Object.entries(columns).flatMap(([name, column]) =>
    column === false ? [] : [[name, typeof column === 'function' ? plainCell(column) : column] as const],
  );
  return table(
    shown.map(([name, { head }]) => head?.(name) ?? name),
    rows.map(
      (row) =>
        html`<tr>
          ${shown.map(([, { cell }]) => cell(row))}
        </tr>`,
    ),
    foot,
  );
}

const plainCell = <Row>(content: (row: Row) => Content): Cell<Row> => ({
  cell: (row) => html`<td>${content(row)}</td>`,
});

/** @param foot a row of sums */
export function table(heads: readonly (string | Html)[], rows: readonly Html[], foot?: Html): Html {
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
    ${
      foot !== undefined &&
      html`<tfoot>
        ${foot}
      </tfoot>`
    }
  </table>`;
}

export const code = (text: string): Html => html`<pre><code>${text}</code></pre>`;
