import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Case, casePage } from '../../src/documents/case-page.ts';
import { documentNumber } from '../../src/domain/document-number.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { proveDocument, type WantedDocument } from '../../src/proof/proof-file.ts';
import type { Queryable } from '../runner/rows.ts';
import { readSignedLog } from './signed-log.ts';

const verifierFile = new URL('../../src/proof/verifier.mjs', import.meta.url);

export const compress: (text: string) => Promise<Buffer> = promisify(gzip);

interface Wanted extends WantedDocument {
  /** `proof`: the file that the verifier reads; `case_file`: a page with it and with the verifier. */
  as: 'proof' | 'case_file';
  /** Names and addresses for a case file; default: none. */
  readParties?: (() => Promise<Case['parties']>) | undefined;
  /** Of the period; default: any number. */
  mostEvents?: number;
}

/**
 * The text of a file that proves an invoice or a credit note (docs/proofs.md), by the newest signed head.
 *
 * @throws {NotProvable} {EventStoreUnavailable}
 */
export async function writeProof(
  { store, pool }: { store: Pick<EventStore, 'read'>; pool: Queryable },
  { as, readParties, mostEvents, ...wanted }: Wanted,
): Promise<string> {
  const proof = await proveDocument(store, await readSignedLog(pool), wanted, mostEvents);
  if (as === 'proof') return proof.text;
  return casePage({
    number: documentNumber(wanted.type, { account_id: wanted.accountId, number: wanted.number }),
    proof,
    compressed: (await compress(proof.text)).toString('base64'),
    verifier: await readFile(verifierFile, 'utf8'),
    sha256: (of) => hash('sha256', of, 'base64'),
    parties: await readParties?.(),
  });
}
