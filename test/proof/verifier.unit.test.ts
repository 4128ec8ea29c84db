import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { documentNumber } from '../../src/domain/document-number.ts';
import { proveDocument } from '../../src/proof/proof-file.ts';
import { NotVerified, verify } from '../../src/proof/verifier.mjs';
import { canonicalJson } from '../commands/unbroken-chain.ts';
import { scaled } from '../support/proof-scale.ts';
import { type Case, forgeries } from './forgeries.ts';
import {
  documentsOf,
  provenHistory,
  type ProvenLog,
  proveText,
  publicKey,
  type StoredEvent,
  wantedOf,
} from './proven-log.ts';

describe('the verifier', () => {
  const source = readFileSync(new URL('../../src/proof/verifier.mjs', import.meta.url), 'utf8');

  it('can be read in one go, and needs nothing else', () => {
    expect(source.split('\n').length - 1).toBeLessThanOrEqual(300);
    expect(source).not.toMatch(/^\s*import\b|\bimport\(|\brequire\(/m);
  });
});

describe('every document of a history', () => {
  it.each(Array.from({ length: scaled(8, 300) }, (_, index) => index))('is verified (seed %i)', async (seed) => {
    const log = await provenHistory(seed);
    expect(documentsOf(log).length).toBeGreaterThan(3);
    for (const document of documentsOf(log)) {
      const { name, cents } = await verify(await proveText(log, document), publicKey);
      const { type, accountId, number } = wantedOf(document);
      expect(name).toBe(documentNumber(type, { account_id: accountId, number }));
      expect(cents).toBe(document.data['total_cents'] ?? document.data['cents']);
    }
  });
});

describe('a proof', () => {
  it('is made of a period with at most as many events as its maker takes', async () => {
    const log = await provenHistory(1);
    const document = documentsOf(log).find(({ data }) => data['covers'] === 'period')!;
    const { period } = await proveDocument(log, log.signed, wantedOf(document));
    const make = (mostEvents: number) => proveDocument(log, log.signed, wantedOf(document), mostEvents);
    expect((await make(period.length)).period).toHaveLength(period.length);
    await expect(make(period.length - 1)).rejects.toMatchObject({ name: 'NotProvable', reason: 'too_large' });
  });
});

describe('a document that is chained and signed, and wrong, is refused:', () => {
  const histories = [1, 2, 3].map((seed) => provenHistory(seed));

  it.each(forgeries)('%s', async (_name, refusal, forge) => {
    for (const log of await Promise.all(histories)) {
      for (const { stream, revision } of documentsOf(log)) {
        const of = caseOf(log.copy(), stream, revision);
        if (!forge(of)) continue;
        for (const changed of new Set([of.period[0]!.stream, stream])) of.log.rechain(changed);
        await of.log.sign();
        const said = await verify(await proveText(of.log, of.document), publicKey).catch((error: unknown) => error);
        expect(said).toBeInstanceOf(NotVerified);
        expect((said as Error).message).toMatch(refusal);
        return;
      }
    }
    throw new Error('the histories have no document for this forgery');
  });
});

it('a credit note that comes with another invoice is refused', async () => {
  for (const log of await Promise.all([1, 2, 3, 4, 5, 6].map((seed) => provenHistory(seed)))) {
    for (const note of documentsOf(log).filter(({ type }) => type === 'CreditNoteIssued')) {
      const documents = log.ofStream(note.stream);
      const between = documents.find(
        ({ type, revision, data }) =>
          type === 'InvoiceIssued' && revision < note.revision && data['number'] !== note.data['invoice_number'],
      );
      if (!between) continue;
      const [proof, other] = await Promise.all([note, between].map((of) => proveText(log, of)));
      const { document_proof } = JSON.parse(proof!) as { document_proof: string };
      const forged = { ...(JSON.parse(other!) as object), document_proof };
      const named = { ...forged, documents: documents.slice(between.revision, note.revision + 1) };
      await expect(verify(`${canonicalJson(named)}\n`, publicKey)).rejects.toThrow(/is not about the invoice/);
      return;
    }
  }
  throw new Error('the histories have no credit note behind another invoice');
});

function caseOf(log: ProvenLog, stream: string, revision: number): Case {
  const documents = log.ofStream(stream);
  const document = documents[revision]!;
  const number = document.data['invoice_number'] ?? document.data['number'];
  const invoice = documents.find(
    ({ type, data }) => type === 'InvoiceIssued' && data['number'] === number,
  ) as Case['invoice'];
  const start = String((invoice as StoredEvent).data['period_start']);
  const usage = `usage-${stream.slice('invoices-'.length)}-${start.slice(0, 10).replaceAll('-', '')}`;
  // An opening invoice follows from the first event alone.
  const period = log.ofStream(usage).slice(0, invoice.data.covers === 'opening' ? 1 : Infinity);
  return { log, document, invoice, period };
}
