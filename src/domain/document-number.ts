import { accountIdPattern } from './account-events.ts';

/**
 * The number of an invoice or a credit note that no other document of the issuer has, such as
 * `INV-7H2K-9M4P-1Q8S-5T3V-12`: its kind, all of the account's id in groups of four, and its number in the account. It follows
 * from the event and is stored nowhere. No part may ever be left out, because nothing else keeps two documents apart.
 */
const prefixes = { invoice: 'INV', credit_note: 'CN' } as const;

export function documentNumber(
  type: keyof typeof prefixes,
  { account_id: accountId, number }: { account_id: string; number: number },
): string {
  const groups = accountId
    .slice('acc_'.length)
    .toUpperCase()
    .matchAll(/.{1,4}/g);
  return [prefixes[type], ...[...groups].flat(), String(number)].join('-');
}

/** Invoices and credit notes of an account are each numbered from 1, without a gap. */
export const nextNumber = (documents: readonly unknown[]): number => documents.length + 1;

/** With any signs between its groups, behind any words. */
const spaced = /(?:^|[^A-Z0-9])(INV|CN)[^A-Z0-9]+((?:[A-Z0-9]{1,4}[^A-Z0-9]+)+)(\d{1,9})[^A-Z0-9]*$/;
/** Without any, or without the kind: ids have 20 characters. */
const glued = /^(INV|CN)?([A-Z0-9]{20})(\d{1,9})$/;

const typeOf: Readonly<Record<string, keyof typeof prefixes>> = { INV: 'invoice', CN: 'credit_note' };

/**
 * A number as people spell it: in small letters, with spaces, or with nothing between its groups.
 *
 * @returns type: undefined where the text does not say it; undefined for a text that is no such number
 */
export function readDocumentNumber(
  text: string,
): { type: keyof typeof prefixes | undefined; accountId: string; number: number } | undefined {
  const capital = text.toUpperCase();
  const signs = /[^A-Z0-9]/g;
  const [, prefix = '', groups = '', number = ''] =
    spaced.exec(capital) ?? glued.exec(capital.replaceAll(signs, '')) ?? [];
  const accountId = `acc_${groups.replaceAll(signs, '').toLowerCase()}`;
  return accountIdPattern.test(accountId) ? { type: typeOf[prefix], accountId, number: Number(number) } : undefined;
}
