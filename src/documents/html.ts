/** HTML as text: what is put into it is escaped unless it is HTML itself. Small enough that a library would be more to read. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Html | string | number | undefined | false | readonly Content[];

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
