import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { WantedCorrection } from '../../domain/correction-events.ts';
import type { StaffRole } from '../../domain/staff-events.ts';

/** Ids that follow from what others call a thing, so a repeated command finds the same account, key or person. */

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const idLength = 20;

export const accountIdOf = (reference: string): string => idOf('acc', ['account of a reference', reference]);

export const keyIdOf = (accountId: string, reference: string): string =>
  idOf('key', ['key of a reference', accountId, reference]);

/** A member of staff of an OpenID provider, who needs no look-up. */
export const staffIdOf = ({ issuer, subject }: { issuer: string; subject: string }): string =>
  idOf('stf', ['staff of a provider', issuer, subject]);

/** A member of staff whom a form invites: another address or role is another order, and never somebody who is there. */
export const invitedIdOf = (formKey: string, { email, role }: { email: string; role: StaffRole }): string =>
  idOf('stf', ['staff of a form', formKey, email, role]);

export const tokenIdOf = (staffId: string, formKey: string): string =>
  idOf('stk', ['token of a form', staffId, formKey]);

interface CorrectionParts {
  accountId: string;
  reference: string;
  correction: WantedCorrection;
}

/**
 * A correction whose parts make it: the same form, sent twice, or the same command asks once. Another part is another correction,
 * also under the same reference.
 */
export const correctionIdOf = ({ accountId, reference, correction }: CorrectionParts): string =>
  uuidOf([accountId, reference, correction]);

/** The command of a form that asks for mails about a document: for other people it is another command. */
export const mailsCommandIdOf = (
  formKey: string,
  { accountId, documentId, mailTo }: { accountId: string; documentId: string; mailTo: readonly string[] },
): string => uuidOf(['mails of a form', formKey, accountId, documentId, mailTo]);

function uuidOf(parts: readonly unknown[]): string {
  const digits = hash('sha256', canonicalize(['reeltally', ...parts]) ?? '');
  // Version 8 of RFC 9562, with its variant.
  const variant = ((parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  return [
    ...[digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`],
    ...[`${variant}${digits.slice(17, 20)}`, digits.slice(20, 32)],
  ].join('-');
}

/** 100 bits of a hash in base 32, in the form of a random id. @param parts hold no control characters */
function idOf(prefix: 'acc' | 'key' | 'stf' | 'stk', parts: readonly string[]): string {
  const bytes = hash('sha256', ['reeltally', ...parts].join('\0'), 'buffer').subarray(0, idLength);
  return `${prefix}_${Array.from(bytes, (byte) => alphabet.charAt(byte & 31)).join('')}`;
}
