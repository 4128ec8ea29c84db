import { storedIssuerDetails } from './billing-details.ts';
import type { EventOf } from './event-of.ts';

/** Stream `issuer`: name and address of whoever issues the invoices. */
export const issuerStream = 'issuer';

export const issuerEventSchemas = {
  /** All details that hold from here on. */
  IssuerDetailsChanged: storedIssuerDetails,
};

export type IssuerEvent = EventOf<typeof issuerEventSchemas>;
