import { describe, expect, it } from 'vitest';
import { documentMail } from '../../src/dispatcher/document-mail-text.ts';
import { issuerBySetting } from '../../src/domain/billing-details.ts';
import type { CreditNoteIssued, InvoiceIssued } from '../../src/domain/invoice-events.ts';
import { accountId } from '../domain/usage-examples.ts';

const issuedAt = '2026-12-21T01:00:03.112Z';
const period = { period_start: '2026-11-21T00:00:00.000Z', period_end: '2026-12-21T00:00:00.000Z' };
const sending = {
  id: 'an-id',
  to: 'owner@example.com',
  issuer: { ...issuerBySetting('Tally & Co'), email: 'billing@example.com' },
  publicUrl: 'https://reeltally.test/api',
  isClosed: false,
};
const invoice: InvoiceIssued = {
  number: 7,
  account_id: accountId,
  covers: 'period',
  currency: 'USD',
  lines: [],
  total_cents: 1950,
  ...period,
};

describe('the mail about a document', () => {
  it('says who has issued what, what it comes to, and where it can be read', () => {
    expect(
      documentMail({ document: { type: 'InvoiceIssued', data: invoice }, issuedAt, askedAt: null }, sending),
    ).toEqual({
      id: 'an-id',
      to: ['owner@example.com'],
      subject: 'Invoice INV-AAAA-AAAA-AAAA-AAAA-7: $19.50',
      date: issuedAt,
      text: `Tally & Co
has issued invoice INV-AAAA-AAAA-AAAA-AAAA-7
for your account acc_aaaaaaaaaaaaaaaa.

Total: $19.50
Period: from 2026-11-21 on, before 2026-12-21 (UTC)
Date of issue: 2026-12-21

To read, print or save it, open
https://reeltally.test/api/console/invoices/7

Questions about it: billing@example.com
`,
    });
  });

  it('ends with the three lines of the head that covers it', () => {
    const note =
      'reeltally.test/tlog\n12\nlqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=\n\n— reeltally.test/tlog c2lnbmVk\n';
    const document = { type: 'InvoiceIssued', data: invoice } as const;
    const { text } = documentMail({ document, issuedAt, askedAt: null }, { ...sending, note });
    expect(text).toMatch(
      /whose head was then:\nreeltally\.test\/tlog\n12\nlqKW0iTyhcZ77pPDD4owkVfw2qNdxbh\+QQt4YwoJz8c=\n$/,
    );
  });

  it('says all of it where nobody signs in any more', () => {
    const rate = { rate_cents: 25, rate_version: '2026-01', stream: `usage-${accountId}-2026-11-21` };
    const lines: InvoiceIssued['lines'] = [
      { kind: 'overage', quantity: 78, cents: 1950, revisions: [[1, 155, 2]], ...rate },
    ];
    const document = { type: 'InvoiceIssued', data: { ...invoice, lines } } as const;
    const { text } = documentMail({ document, issuedAt, askedAt: null }, { ...sending, isClosed: true });
    expect(text).toContain(`
Downloads beyond the allowance: $19.50
Amounts are without tax.

The account is closed, and nobody signs in any more:
ask for a copy, or for the single charges.

Questions about it: billing@example.com
`);
    expect(text).not.toContain('https://');
  });

  it('says that it was asked for again, and is of that time', () => {
    const askedAt = '2027-01-05T09:00:00.000Z';
    const document = { type: 'InvoiceIssued', data: invoice } as const;
    const { date, text } = documentMail({ document, issuedAt, askedAt }, sending);
    expect(date).toBe(askedAt);
    expect(text).toContain(
      'Date of issue: 2026-12-21\nThis mail was asked for again; the document is the same.\n\nTo read',
    );
  });

  it('names the invoice that a credit note is about, and no address for questions where there is none', () => {
    const note: CreditNoteIssued = {
      number: 2,
      account_id: accountId,
      reference: 'CASE-1',
      invoice_number: 7,
      line: 1,
      charges: [],
      currency: 'USD',
      cents: 25,
    };
    const issuer = issuerBySetting('Tally & Co');
    const { subject, text } = documentMail(
      { document: { type: 'CreditNoteIssued', data: note }, issuedAt, askedAt: null },
      { ...sending, issuer },
    );
    expect(subject).toBe('Credit note CN-AAAA-AAAA-AAAA-AAAA-2: $0.25');
    expect(text).toContain('\n\nCredited: $0.25\nOf invoice: INV-AAAA-AAAA-AAAA-AAAA-7\n');
    expect(text).toMatch(/\nhttps:\/\/reeltally\.test\/api\/console\/credit-notes\/2\n$/);
  });
});
