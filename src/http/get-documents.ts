import { z } from 'zod';
import { pageDocuments } from '../../projections/queries/account-documents.ts';
import { contractTimestamp } from '../domain/instant.ts';
import { callerOf } from './caller.ts';
import type { Endpoint } from './endpoint.ts';
import { sendData, timestamp } from './envelope.ts';
import { afterField, nextField } from './paging.ts';
import { readFor } from './read-for.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput } from './request-input.ts';

const perPage = 50;

const query = z.object({ after: afterField });

const cents = z.int();
const head = {
  document_number: z.string().describe('Unique among all documents of the issuer.'),
  number: z.int().min(1).describe('Its number among the invoices, or the credit notes, of the account.'),
  issued_at: timestamp.describe('When it was issued, in UTC.'),
  currency: z.literal('USD'),
};

const invoiceLine = z.strictObject({
  line: z.int().min(1).describe('Number of the line.'),
  kind: z.enum(['fee', 'fee_difference', 'overage', 'waivers', 'waiver']),
  description: z.string(),
  quantity: z.int().min(1),
  rate_cents: z.int().min(0).nullable().describe('Unit price; null if the line is not a quantity of equal items.'),
  cents: cents.describe('Negative for what was waived.'),
});

const invoice = z
  .strictObject({
    type: z.literal('invoice'),
    ...head,
    covers: z.enum(['opening', 'period']).describe('The first fee, or a period with the fee of the next one.'),
    period_start: timestamp.describe('When its billing period began, in UTC.'),
    period_end: timestamp.describe('When that ended, in UTC.'),
    lines: z.array(invoiceLine),
    net_cents: cents.describe('Its total without tax, in US cents.'),
    credited_cents: cents.describe('How much of that credit notes have given back since.'),
    left_cents: cents.describe('Net less credited.'),
  })
  .meta({ id: 'Invoice', title: 'invoice' });

const creditNote = z
  .strictObject({
    type: z.literal('credit_note'),
    ...head,
    invoice_number: z.int().min(1).describe('Number of the invoice that it gives back a part of.'),
    reference: z.string().describe('Case or ticket.'),
    net_cents: cents.describe('What it gives back, in US cents.'),
  })
  .meta({ id: 'CreditNote', title: 'credit note' });

const documents = z
  .strictObject({
    documents: z
      .array(z.discriminatedUnion('type', [invoice, creditNote]))
      .max(perPage)
      .describe('The newest first.'),
    next: nextField,
  })
  .meta({ id: 'Documents' });

export const documentsReference: EndpointReference = {
  operationId: 'listDocuments',
  tag: 'Account',
  summary: "The account's invoices and credit notes",
  description:
    'Costs nothing. The newest first; all amounts are integers in US cents, without tax. A document appears a moment after it was issued.',
  query,
  success: { status: 200, description: 'A page of documents.', data: documents },
  errors: [],
};

export const getDocuments: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const { accountId } = callerOf(request);
  const { after } = readInput(query, request.query);
  const list = { list: 'documents', accountId } as const;
  const before = after === undefined ? undefined : BigInt(dependencies.cursors.read(list, after));
  const page = await readFor(dependencies, (pool) => pageDocuments({ pool }, { accountId, before, limit: perPage }));
  const shown = page.documents.map((each) => {
    const dates = { issued_at: contractTimestamp(each.issued_at) };
    if (each.type === 'credit_note') return { ...each, ...dates };
    const { period_start: start, period_end: end } = each;
    return { ...each, ...dates, period_start: contractTimestamp(start), period_end: contractTimestamp(end) };
  });
  const next = page.next === undefined ? null : dependencies.cursors.write(list, String(page.next));
  return sendData(reply, 200, { documents: shown, next } satisfies z.infer<typeof documents>);
};
