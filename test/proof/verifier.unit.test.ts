import { beforeAll, describe, expect, it } from 'vitest';
import { documentNumber } from '../../src/domain/document-number.ts';
import { proveDocument } from '../../src/proof/proof-file.ts';
import { readSignedLog } from '../../src/proof/read-signed-log.ts';
import { verify } from '../../src/proof/verifier.mjs';
import { writeAuditedHistory } from '../audit/audited-history.ts';
import { Random } from '../audit/random.ts';
import { scaled } from '../support/proof-scale.ts';
import { ProvenLog, publicKey } from './proven-log.ts';

const documentTypes: Record<string, 'invoice' | 'credit_note'> = {
  InvoiceIssued: 'invoice',
  CreditNoteIssued: 'credit_note',
};

async function history(seed: number): Promise<ProvenLog> {
  const log = new ProvenLog();
  await writeAuditedHistory(log, new Random(seed), { accounts: 3 });
  await log.sign();
  return log;
}

describe('every document of a history', () => {
  it.each(Array.from({ length: scaled(5, 100) }, (_, index) => 1_000 + index))('is verified (seed %i)', async (seed) => {
    const log = await history(seed);
    const signed = await readSignedLog(log);
    const documents = log.events.filter(({ type }) => type in documentTypes);
    expect(documents.length).toBeGreaterThan(3);
    for (const { type, data } of documents) {
      const about = data as { account_id: string; number: number };
      const wanted = { type: documentTypes[type]!, accountId: about.account_id, number: about.number };
      const { text } = await proveDocument(log, signed, wanted);
      const { name } = await verify(text, publicKey);
      expect(name).toBe(documentNumber(wanted.type, about));
    }
  });
});
void beforeAll;
