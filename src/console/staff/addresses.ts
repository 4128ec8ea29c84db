import { type Html, html } from '../../documents/html.ts';

/** Addresses of the staff console's pages. */

export const accountPath = (accountId: string) => `/staff/accounts/${accountId}`;

export const accountLink = (accountId: string): Html =>
  html`<a href="${accountPath(accountId)}"><code>${accountId}</code></a>`;

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

/** Where a list goes on that is cut off before a row. */
export function olderPath(path: string, query: URLSearchParams, before: string): string {
  const changed = new URLSearchParams([...query].filter(([name, value]) => value !== '' && name !== 'before'));
  changed.set('before', before);
  return `${path}?${changed.toString()}`;
}

/** A page that is a file with this ending as well. */
export type FileEnding = '' | '.csv' | '.json';

/** Charges and corrections of a billing period. */
export const chargesPath = (
  { account_id: accountId, period_start: start }: { account_id: string; period_start: string },
  fields: { only?: 'charges' | 'corrections' | undefined; after?: string | undefined } = {},
  as: FileEnding = '',
) => withQuery(`/staff/overage/${accountId}/${start.slice(0, 10)}${as}`, fields);
