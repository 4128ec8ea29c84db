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

const documentNumberPattern = /^(?:INV|CN)-([A-Z0-9]{1,4}(?:-[A-Z0-9]{1,4})*)-\d+$/;

/** @param text in capital letters or small ones @returns the account, or undefined for a text that is no such number */
export function accountOfDocumentNumber(text: string): string | undefined {
  const groups = documentNumberPattern.exec(text.trim().toUpperCase())?.[1];
  return groups === undefined ? undefined : `acc_${groups.replaceAll('-', '').toLowerCase()}`;
}
