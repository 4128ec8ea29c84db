import { z } from 'zod';
import { email, plainText, storedEmail, storedText } from './plain-text.ts';

/** The text of an address is what people type, or what older events hold. */
const partsOf = (text: typeof plainText) => ({
  name: text(200).min(1, 'is empty'),
  address: {
    address_lines: z.array(text(100).min(1, 'is empty')).max(6, 'has more than 6 lines'),
    /** ISO 3166-1 alpha-2. */
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, 'is not a country code of two capital letters, such as DE')
      .nullable(),
    /** As the tax office writes it. It is only shown: no tax is computed, so that no invoice has a line of VAT. */
    tax_id: text(50).min(1, 'is empty').nullable(),
  },
});

/** Name and address of an account's owner on invoices. Null and no lines: not known. */
const ofOwner = ({ name, address }: ReturnType<typeof partsOf>) =>
  z.strictObject({ name: name.nullable(), ...address });

/** The issuer's, who always has a name. The e-mail address is for questions about invoices. */
const ofIssuer = ({ name, address }: ReturnType<typeof partsOf>, mailAddress: typeof email) =>
  z.strictObject({ name, ...address, email: mailAddress.nullable() });

const [typed, stored] = [partsOf(plainText), partsOf(storedText)];

export const billingDetails = ofOwner(typed);
export const storedBillingDetails = ofOwner(stored);
export type BillingDetails = z.infer<typeof billingDetails>;

export const issuerDetails = ofIssuer(typed, email);
export const storedIssuerDetails = ofIssuer(stored, storedEmail);
export type IssuerDetails = z.infer<typeof issuerDetails>;

export const noDetails: BillingDetails = { name: null, address_lines: [], country: null, tax_id: null };

/** Before the first change only the name is known, from the settings. */
export const issuerBySetting = (name: string): IssuerDetails => ({ ...noDetails, name, email: null });

/** Some of the details; what is missing stays as it is. */
export type Change<Details> = { readonly [Name in keyof Details]?: Details[Name] | undefined };

export function withChange<Details extends object>(details: Details, change: Change<Details>): Details {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return { ...details, ...given };
}

export const areSameDetails = (one: BillingDetails, other: BillingDetails): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
