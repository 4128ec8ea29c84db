import {
  type CreditNoteDocument,
  creditNoteDocument,
  type InvoiceDocument,
  invoiceDocument,
} from '../../src/documents/invoice-document.ts';
import type { IssuerDetails } from '../../src/domain/billing-details.ts';
import type { CreditNoteIssued, InvoiceIssued } from '../../src/domain/invoice-events.ts';
import type { LineItem } from '../../src/domain/line-items.ts';
import { accountId } from '../domain/usage-examples.ts';

/** An invoice with a line of every kind, and a note that gives a part of it back. */

const stream = `usage-${accountId}-20261121`;
const event = (revision: number) => ({
  stream,
  revision,
  id: `c491a13c-b809-55e8-851d-83ddc20950${String(revision)}`,
  hash: String(revision).padStart(64, '0'),
});

const invoice: InvoiceIssued = {
  number: 7,
  account_id: accountId,
  covers: 'period',
  currency: 'USD',
  total_cents: 310_867,
  period_start: '2026-11-21T00:00:00.000Z',
  period_end: '2026-12-21T00:00:00.000Z',
  lines: [
    {
      kind: 'overage',
      rate_cents: 25,
      rate_version: '2026-11',
      quantity: 4,
      cents: 100,
      stream,
      revisions: [
        [21, 25, 2],
        [28, 28, 1],
      ],
    },
    { kind: 'waiver', reference: '=CASE-1', charge_event_id: event(21).id, cents: -18, event: event(40) },
    {
      kind: 'waivers',
      rate_cents: 25,
      rate_version: '2026-11',
      quantity: 2,
      cents: -15,
      stream,
      revisions: [[42, 43, 1]],
    },
    { kind: 'fee_difference', plan: 'studio_500', cents: 4_000, event: event(41) },
    {
      kind: 'fee',
      plan: 'studio_500',
      cents: 306_800,
      event: event(50),
      period_start: '2026-12-21T00:00:00.000Z',
      period_end: '2027-01-21T00:00:00.000Z',
    },
  ],
};

const note: CreditNoteIssued = {
  number: 2,
  account_id: accountId,
  reference: 'CASE-2',
  invoice_number: 7,
  line: 1,
  currency: 'USD',
  cents: 25,
  charges: [
    { token: '-token-23', charge_event_id: event(23).id, cents: 20 },
    { token: '-token-24', charge_event_id: event(24).id, cents: 5 },
  ],
};

const at = { eventId: event(60).id, actor: { type: 'system', id: 'billing-period' } };
const issued = { ...at, data: invoice, revision: 8, issuedAt: '2026-12-21T01:00:03.112Z' };
const staff = { type: 'staff', id: 'R. Example', reason: '<script>alert("1")</script> & more' };
const noted = { ...at, data: note, revision: 9, issuedAt: '2027-01-04T23:59:59.999Z', actor: staff };
const details = { address_lines: ['1 Film Row', '<b>Dublin</b>'], country: 'IE', tax_id: 'IE1234567T' };
const parties = {
  issuer: { name: 'Reeltally & Sons', ...details, email: 'billing@reeltally.test' },
  billedTo: { name: 'Ada Ltd', address_lines: ['London'], country: 'GB', tax_id: null, email: 'owner@example.com' },
  stream: `invoices-${accountId}`,
};

const item = (revision: number, cents: number): LineItem => ({
  event_id: event(revision).id,
  revision,
  time: '2026-11-30T23:59:59.999Z',
  token: `-token-${String(revision)}`,
  platform: 'youtube',
  video_id: 'dQw4w9WgXcQ',
  reference: null,
  reason: null,
  cents,
});
const waiver = (revision: number, cents: number): LineItem => ({
  ...item(revision, cents),
  reference: '=CASE-1',
  reason: '@the file <was> broken',
});
const charges = [21, 23, 25, 28].map((revision) => item(revision, 25));
const waivers: readonly [number, LineItem[]][] = [
  [2, [waiver(40, -18)]],
  [3, [waiver(42, -10), waiver(43, -5)]],
];

/** @param issuer changes of its details */
export const exampleInvoice = (withCharges = false, issuer: Partial<IssuerDetails> = {}): InvoiceDocument => {
  const items = new Map([...(withCharges ? [[1, charges] as const] : []), ...waivers]);
  return invoiceDocument(issued, [noted], { ...parties, issuer: { ...parties.issuer, ...issuer }, items });
};

/** One with more charges than a page lists. */
export const longInvoice = (count: number): InvoiceDocument =>
  invoiceDocument(issued, [], {
    ...parties,
    items: new Map([[1, Array.from({ length: count }, (_, index) => item(100 + index, 25))]]),
  });

export const exampleNote = (): CreditNoteDocument => creditNoteDocument(noted, invoice, parties);
