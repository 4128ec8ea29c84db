import { Html, html } from '../../documents/html.ts';
import type { NamedRow } from './customers.ts';

/** Addresses of the staff console's pages. */

export const accountPath = (accountId: string) => `/staff/accounts/${accountId}`;

/**
 * An account by its name, where that is known, and by its id.
 *
 * @param path default: the account's page; isRow: whether Enter on the row opens it
 */
export function accountLink(
  { account_id: accountId, customer }: NamedRow,
  { path = accountPath(accountId ?? ''), isRow = false }: { path?: string; isRow?: boolean } = {},
): Html {
  const id = html`<code>${accountId ?? ''}</code>`;
  const row = isRow && new Html('data-row');
  if (customer === undefined || customer === null) return html`<a ${row} href="${path}">${id}</a>`;
  return html`<a ${row} href="${path}">${customer}</a> <small class="soft">${id}</small>`;
}

export const downloadPath = (token: string) => `/staff/downloads/${token}`;

export const personPath = (staffId: string) => `/staff/people/${staffId}`;

export const correctionPath = (correctionId: string) => `/staff/corrections/${correctionId}`;

export const eventPath = (eventId: string) => `/staff/events/${eventId}`;

/** Of an event that is known by its place: the read models do not know the ids of all. */
export const eventAtPath = ({ stream, revision }: { stream: string; revision: number }) =>
  `/staff/events/${String(revision)}@${stream}`;

export const invoicePath = (accountId: string, number: number) =>
  `${accountPath(accountId)}/invoices/${String(number)}`;

export const creditNotePath = (accountId: string, number: number) =>
  `${accountPath(accountId)}/credit-notes/${String(number)}`;

export const documentPath = (
  type: 'InvoiceIssued' | 'CreditNoteIssued',
  { accountId, number }: { accountId: string; number: number },
) => (type === 'InvoiceIssued' ? invoicePath : creditNotePath)(accountId, number);

/** With those of these fields that are not undefined, as its query. */
export function withQuery(path: string, fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** Leads on from the end of a list that was cut off. @param before the row there; null: the list is whole */
export function olderLink(path: string, query: URLSearchParams, before: string | null): Html | false {
  if (before === null) return false;
  const fields = Object.fromEntries([...query].filter(([, value]) => value !== ''));
  return html`<p class="pages"><a rel="next" href="${withQuery(path, { ...fields, before })}">Older</a></p>`;
}

/** @param addressOf of a page, by where it begins; options: after: where this one begins, next: the one behind it */
export const pageLinks = (
  addressOf: (after: string | undefined) => string,
  { after, next, goOn = 'Next page' }: { after: string | undefined; next: string | null; goOn?: string },
): Html =>
  html`<p class="pages">
    ${after !== undefined && html`<a href="${addressOf(undefined)}">First page</a>`}
    ${next !== null && html`<a rel="next" href="${addressOf(next)}">${goOn}</a>`}
  </p>`;

/** A page that is a file with this ending as well. */
export type FileEnding = '' | '.csv' | '.json';

/** Charges and corrections of a billing period. */
export const chargesPath = (
  { account_id: accountId, period_start: start }: { account_id: string; period_start: string },
  fields: Readonly<Record<string, string | undefined>> = {},
  as: FileEnding = '',
) => withQuery(`/staff/overage/${accountId}/${start.slice(0, 10)}${as}`, fields);

/** The files that have all rows of a table. */
export const fileLinks = (rows: string, addressAs: (as: FileEnding) => string): Html =>
  html`<p class="pages">
    <span>All of these ${rows}:</span> <a href="${addressAs('.csv')}" download>CSV</a>
    <a href="${addressAs('.json')}" download>JSON</a>
  </p>`;
