import { type Html, html } from '../../../documents/html.ts';
import { documentNumber } from '../../../domain/document-number.ts';
import { empty, listTable, note, time } from '../../parts.ts';
import { type Answer, page, redirect, type StaffVisit } from '../../visit.ts';
import { accountLink } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs } from '../view.ts';
import { type Hit, search, type SearchResult } from '../views/search-by-id-or-number.ts';

/** What a text stands for. The text comes in a form: it may be personal data, and stands in no address and no history. */

export async function find(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const text = (visit.form.get('search') ?? '').trim();
  if (text === '') return redirect('/staff');
  const result = await seeAs(visit, search, dependencies, { search: text });
  const [only, ...others] = new Set(result.hits.map(({ path }) => path));
  if (only !== undefined && others.length === 0) return redirect(only);
  return page({ title: 'Search', section: 'search', content: content(text, result) });
}

/** For somebody who reloads the page, or comes to it from signing in. */
export const begin = (): Answer => redirect('/staff');

const shownCharacters = 100;

function content(text: string, { hits, more }: SearchResult): Html {
  const shown = text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
  if (hits.length === 0)
    return empty(
      html`<p>Nothing was found for <code>${shown}</code>.</p>
        <p class="soft">${findable} Something that is a moment old may not be there yet.</p>`,
    );
  return html`<p>${String(hits.length)} matches for <code>${shown}</code>.</p>
    ${more && note('info', 'There are more than can be shown: these are the newest.')}
    ${listTable('Found', hits, {
      Time: ({ time: at }) => at !== null && time(at),
      Kind: ({ kind }) => kindNames[kind],
      Match: (hit) => html`<a data-row href="${hit.path}">${nameOf(hit)}</a>`,
      Account: ({ account_id: accountId }) => accountId !== null && accountLink(accountId),
    })}`;
}

/** What can be found, for people. */
export const findable =
  'The search finds tokens, accounts, API keys or their first characters, e-mail addresses, addresses and ids of videos, numbers of invoices and credit notes, request ids, event ids, idempotency keys, and references of corrections.';

const kindNames: Readonly<Record<Hit['kind'], string>> = {
  account: 'Account',
  api_key: 'API key',
  person: 'Person of an account',
  download: 'Download',
  document: 'Invoice or credit note',
  request: 'Charge of a request',
  event: 'Event',
  idempotency_key: 'Download with this idempotency key',
  correction: 'Correction',
  reference: 'Given back under this reference',
};

function nameOf({ kind, id, label, account_id: accountId, token }: Hit): string {
  if (kind === 'document') {
    const [type, number] = (id ?? '').split(' ');
    const document = type === 'InvoiceIssued' ? 'invoice' : 'credit_note';
    return documentNumber(document, { account_id: accountId ?? '', number: Number(number) });
  }
  if (kind === 'api_key') return `${label ?? ''}…`;
  if (kind === 'correction') return `${label ?? ''}: ${id ?? ''}`;
  return label ?? (kind === 'idempotency_key' ? token : id) ?? '';
}
