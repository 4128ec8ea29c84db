import type { z } from 'zod';
import { storedIssuerDetails } from './billing-details.ts';

/** Stream `issuer`: name and address of whoever issues the invoices. */
export const issuerStream = 'issuer';

export const issuerEventSchemas = {
  /** All details that hold from here on. */
  IssuerDetailsChanged: storedIssuerDetails,
};

export type IssuerEvent = {
  [Type in keyof typeof issuerEventSchemas]: { type: Type; data: z.infer<(typeof issuerEventSchemas)[Type]> };
}[keyof typeof issuerEventSchemas];
