import { describe, expect, it } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { call, expectError } from '../support/client.ts';
import { waitFor } from '../support/wait-for.ts';
import { creditsOf, exhaust } from './requests.ts';
import { noDownloads, shareService } from './shared-service.ts';

type Documents = components['schemas']['Documents'];

const service = shareService(noDownloads);

const path = (query: Record<string, string> = {}) => `/documents?${String(new URLSearchParams(query))}`;

async function documentsOf(key: string, query: Record<string, string> = {}): Promise<Documents> {
  const { status, data } = await call(service.url, path(query), { key });
  expect(status).toBe(200);
  return data as unknown as Documents;
}

/** An account with the invoice of its first fee. */
async function invoicedAccount() {
  const account = await service.openAccount('enterprise');
  await service.cli('invoices', 'issue-due');
  await shows(account.key, 1);
  return account;
}

async function shows(key: string, documents: number): Promise<void> {
  await waitFor(async () => (await documentsOf(key)).documents.length === documents, {
    what: `${String(documents)} documents`,
  });
}

const credit = (accountId: string, reference: string, cents: number) => {
  const of = ['--line', '1', '--cents', String(cents), '--reference', reference];
  return service.cli('invoices', 'credit', accountId, '1', ...of, '--reason', 'half a day away', '--by', 'R. Example');
};

describe('GET /documents, 200', () => {
  it('lists invoices and credit notes, the newest first, with what is left of an invoice', async () => {
    const { key, accountId } = await invoicedAccount();
    await credit(accountId, 'CASE-7', 500);
    await credit(accountId, 'CASE-8', 100);
    await shows(key, 3);
    const { documents, next } = await documentsOf(key);
    const { period_start: start, period_end: end } = await creditsOf(service.url, key);
    const fee = expect.stringMatching(/^Monthly fee, plan enterprise, /) as string;
    expect(documents).toMatchObject([
      { type: 'credit_note', number: 2, invoice_number: 1, reference: 'CASE-8', net_cents: 100, currency: 'USD' },
      { type: 'credit_note', number: 1, invoice_number: 1, reference: 'CASE-7', net_cents: 500 },
      {
        type: 'invoice',
        number: 1,
        document_number: expect.stringMatching(/^INV-.*-1$/) as string,
        covers: 'opening',
        period_start: start,
        period_end: end,
        net_cents: 49_900,
        credited_cents: 600,
        left_cents: 49_300,
        lines: [{ line: 1, kind: 'fee', description: fee, quantity: 1, rate_cents: null, cents: 49_900 }],
      },
    ]);
    expect(next).toBeNull();
  });

  it('costs no credit, and is empty on the free plan', async () => {
    const { key } = await service.openAccount('dev_100');
    const before = await creditsOf(service.url, key);
    await documentsOf(key);
    expect(await creditsOf(service.url, key)).toEqual(before);
    expect(await documentsOf((await service.openAccount('sandbox')).key)).toEqual({ documents: [], next: null });
  });
});

describe('GET /documents, 400', () => {
  it('invalid_request for a text that is no cursor', async () => {
    const { key } = await service.openAccount('dev_100');
    for (const after of ['', 'x', '1', 'x'.repeat(201)])
      await expectError(call(service.url, path({ after }), { key }), '400 invalid_request');
  });
});

describe('GET /documents, 401 and 429', () => {
  it('wants a key, and counts as any request of the hour', async () => {
    await expectError(call(service.url, path()), '401 unauthorized');
    const { key } = await service.openAccount('sandbox');
    await exhaust(service.url, key);
    await expectError(call(service.url, path(), { key }), '429 rate_limited');
  });
});
