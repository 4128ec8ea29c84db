import { type Html, html } from '../../../documents/html.ts';
import { documentNumber } from '../../../domain/document-number.ts';
import { formTokenField } from '../../form-fields.ts';
import { empty, listTable, note, time } from '../../parts.ts';
import { type Answer, page, redirect, type StaffVisit } from '../../visit.ts';
import { accountLink } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs } from '../view.ts';
import { type Hit, search, type SearchResult } from '../views/search-by-id-or-number.ts';

/**
 * What a text stands for. The text comes in a form: it may be personal data, and stands in no address and no history. The address
 * of what was found hides it, and shows it to that person alone.
 */

export const find = (visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> | Answer => {
  const text = (visit.form.get('search') ?? '').trim();
  return text === '' ? redirect('/staff') : show({ text, kind: visit.form.get('kind') ?? '' }, visit, dependencies);
};

interface Asked {
  text: string;
  kind: string;
}

async function show(asked: Asked, visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { text, kind } = asked;
  const result = await seeAs(visit, search, dependencies, { search: text, ...(kind !== '' && { kind }) });
  const [only, ...others] = new Set(result.hits.map(({ path }) => path));
  if (only !== undefined && others.length === 0) return redirect(only);
  const hidden = dependencies.macs.encrypt(JSON.stringify([visit.session.staffId, text, kind]));
  return page({
    title: 'Search',
    section: 'search',
    address: `/staff/search?for=${hidden}`,
    content: content(asked, result, visit),
  });
}

/** For somebody who comes back to what was found. */
export function showAgain(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> | Answer {
  const hidden = dependencies.macs.decrypt(visit.query.get('for') ?? '');
  if (hidden === undefined) return redirect('/staff');
  const [staffId, text = '', kind = ''] = JSON.parse(hidden) as string[];
  return staffId === visit.session.staffId ? show({ text, kind }, visit, dependencies) : redirect('/staff');
}

const shownCharacters = 100;

function content(
  { text, kind: chosen }: { text: string; kind: string },
  { kinds, hits, more }: SearchResult,
  { session }: StaffVisit,
): Html {
  const shown = text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
  if (hits.length === 0)
    return empty(
      html`<p>Nothing was found for <code>${shown}</code>.</p>
        <p class="soft">${findable} Something that is a moment old may not be there yet.</p>`,
    );
  const choice = (kind: string, name: string) =>
    html`<button class="second" name="kind" value="${kind}" ${kind === chosen && html`aria-current="true"`}>
      ${name}
    </button>`;
  return html`<p>${String(hits.length)} ${hits.length === 1 ? 'match' : 'matches'} for <code>${shown}</code>.</p>
    ${
      kinds.length > 1 &&
      html`<form method="post" action="/staff/search" class="filters">
        ${formTokenField(session)} <input type="hidden" name="search" value="${text}" /> ${choice('', 'All')}
        ${kinds.map(({ kind, hits: all }) => choice(kind, `${kindNames[kind]} (${String(all)})`))}
      </form>`
    }
    ${more && note('info', 'There are more than can be shown: these are the newest.')}
    ${listTable('Found', hits, {
      Time: ({ time: at }) => at !== null && time(at),
      Kind: ({ kind }) => kindNames[kind],
      Match: (hit) => html`<a data-row href="${hit.path}">${nameOf(hit)}</a>`,
      Account: (hit) => hit.account_id !== null && accountLink(hit),
    })}`;
}

/** What can be found, for people. */
export const findable =
  'The search finds tokens and their first ten characters, links to files, accounts, parts of names on invoices, tax IDs, API keys or their first characters, e-mail addresses and their domains, addresses and ids of videos, numbers of invoices and credit notes, request ids, event ids, idempotency keys, and references of corrections.';

const kindNames: Readonly<Record<Hit['kind'], string>> = {
  account: 'Account',
  customer: 'Customer',
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
