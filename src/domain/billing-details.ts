import { z } from 'zod';
import { email, plainText } from './plain-text.ts';

const name = plainText(200).min(1, 'is empty');

const address = {
  address_lines: z.array(plainText(100).min(1, 'is empty')).max(6, 'has more than 6 lines'),
  /** ISO 3166-1 alpha-2. */
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'is not a country code of two capital letters, such as DE')
    .nullable(),
  /** As the tax office writes it. */
  tax_id: plainText(50).min(1, 'is empty').nullable(),
};

/** Name and address of an account's owner on invoices. Null and no lines: not known. */
export const billingDetails = z.strictObject({ name: name.nullable(), ...address });
export type BillingDetails = z.infer<typeof billingDetails>;

/** The issuer's, who always has a name. */
export const issuerDetails = z.strictObject({
  name,
  ...address,
  /** For questions about invoices. */
  email: email.nullable(),
});
export type IssuerDetails = z.infer<typeof issuerDetails>;

export const noDetails: BillingDetails = { name: null, address_lines: [], country: null, tax_id: null };

/** Some of the details; what is missing stays as it is. */
export type Change<Details> = { readonly [Name in keyof Details]?: Details[Name] | undefined };

export function withChange<Details extends object>(details: Details, change: Change<Details>): Details {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  return { ...details, ...given };
}

export const areSameDetails = (one: BillingDetails, other: BillingDetails): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
