import { z } from 'zod';
import { accountId, personId } from './account-events.ts';
import { cents } from './cents.ts';
import { maxChargesOfCorrection } from './correction-events.ts';
import type { EventOf } from './event-of.ts';
import { instant } from './instant.ts';
import { planTerms } from './plans.ts';
import { caseReference, jobToken } from './usage-events.ts';

/** Stream `invoices-{accountId}`: the account's invoices and credit notes. */
export const invoicesStream = (accountId: string) => `invoices-${accountId}`;

const revision = z.int().min(0);
/** The event that a line comes from. The hash says for ever what it holds, and what stands before it in its stream. */
const source = z.strictObject({
  stream: z.string().min(1),
  revision,
  id: z.uuid(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});
/** Events of one usage stream by their revisions: first, last, and the step between. */
const ranges = { stream: z.string().min(1), revisions: z.array(z.tuple([revision, revision, z.int().min(1)])).min(1) };

export const invoiceLine = z.discriminatedUnion('kind', [
  /** The monthly fee of the period that the line names. */
  z.strictObject({
    kind: z.literal('fee'),
    plan: planTerms.shape.plan,
    period_start: instant,
    period_end: instant,
    cents,
    event: source,
  }),
  /** The amount that an upgrade has added to the fee of the closed period. */
  z.strictObject({ kind: z.literal('fee_difference'), plan: planTerms.shape.plan, cents, event: source }),
  /** Downloads beyond the allowance at one rate; `revisions` are those of its charges. */
  z.strictObject({
    kind: z.literal('overage'),
    rate_cents: cents,
    rate_version: planTerms.shape.rate_version,
    quantity: z.int().min(1),
    cents,
    ...ranges,
  }),
  /** Waivers of the charges of one rate, made before the close; `revisions` are those of ChargeWaived. */
  z.strictObject({
    kind: z.literal('waivers'),
    rate_cents: cents,
    rate_version: planTerms.shape.rate_version,
    quantity: z.int().min(1),
    cents: z.int().max(-1),
    ...ranges,
  }),
  /** One ChargeWaived. Invoices that are older than `waivers` have such a line for each. */
  z.strictObject({
    kind: z.literal('waiver'),
    reference: caseReference,
    charge_event_id: z.uuid(),
    cents: z.int().max(-1),
    event: source,
  }),
]);
export type InvoiceLine = z.infer<typeof invoiceLine>;

/** The people who get a mail about the document. Older documents do not say, and nobody is mailed about them. */
const mailTo = z.array(personId).optional();

export const invoiceEventSchemas = {
  InvoiceIssued: z.strictObject({
    /** 1, 2, 3 … without a gap for each account. */
    number: z.int().min(1),
    account_id: accountId,
    /** `opening`: the first fee. `period`: the charges of a closed period, and the fee of the next. */
    covers: z.enum(['opening', 'period']),
    period_start: instant,
    period_end: instant,
    currency: z.literal('USD'),
    lines: z.array(invoiceLine).min(1),
    total_cents: cents.min(1),
    mail_to: mailTo,
  }),
  /** Gives back a part of an invoice. The metadata says who issued it and why. */
  CreditNoteIssued: z.strictObject({
    number: z.int().min(1),
    account_id: accountId,
    reference: caseReference,
    invoice_number: z.int().min(1),
    /** Number of the line in the invoice, from 1. */
    line: z.int().min(1),
    /** The charges of an overage line that it gives back, each with its part of the amount; none: the line as a whole. */
    charges: z
      .array(z.strictObject({ token: jobToken, charge_event_id: z.uuid(), cents: cents.min(1) }))
      .max(maxChargesOfCorrection),
    currency: z.literal('USD'),
    cents: cents.min(1),
    mail_to: mailTo,
  }),
  /** Staff ask that a document is mailed again, to each of these people with a mail of its own. */
  DocumentMailAsked: z.strictObject({
    account_id: accountId,
    document_event_id: z.uuid(),
    /** Of the document, in this stream. */
    document_revision: revision,
    mail_to: z.array(personId).min(1),
  }),
  /** A mail server has taken the mail about a document to one person. */
  DocumentMailed: z.strictObject({
    account_id: accountId,
    /** The event that names the person: the document's own, or DocumentMailAsked. */
    document_event_id: z.uuid(),
    person_id: personId,
    /** Null: the person was removed before. */
    message_id: z.string().min(1).nullable(),
  }),
};

export type InvoiceEvent = EventOf<typeof invoiceEventSchemas>;

export type InvoiceIssued = Extract<InvoiceEvent, { type: 'InvoiceIssued' }>['data'];
export type CreditNoteIssued = Extract<InvoiceEvent, { type: 'CreditNoteIssued' }>['data'];

export type DocumentIssued = Extract<InvoiceEvent, { type: 'InvoiceIssued' | 'CreditNoteIssued' }>;

/** The others of the stream are about mails, and change no amount. */
export const isDocument = (event: InvoiceEvent): event is DocumentIssued =>
  event.type === 'InvoiceIssued' || event.type === 'CreditNoteIssued';
