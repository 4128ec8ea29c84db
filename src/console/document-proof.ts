import type { HeadForEvent } from '../../projections/proofs.ts';
import { compress, writeProof } from '../../projections/queries/document-proof.ts';
import { type Html, html } from '../documents/html.ts';
import type { CreditNoteDocument, InvoiceDocument } from '../documents/invoice-document.ts';
import { NotProvable } from '../proof/proof-file.ts';
import { beginExport } from './export.ts';
import type { SharedDependencies } from './site.ts';
import { type Answer, PageRefusal } from './visit.ts';

/** What an owner or staff see and save of the proof of a document (docs/proofs.md). */

export type ProofDependencies = Pick<SharedDependencies, 'store' | 'pool' | 'exports'>;

type Document = Pick<InvoiceDocument | CreditNoteDocument, 'type' | 'account_id' | 'number' | 'document_number'>;

/** Events of a period whose proof is made while others wait for their pages: about 6 MB, and a tenth of a second. */
const mostEvents = 10_000;

/** @param head undefined where none was ever signed: then there is no section */
export function proofSection(head: HeadForEvent | undefined): Html | false {
  if (!head) return false;
  if (!head.covers)
    return html`<h2>Proof</h2>
      <p>This document is not in the signed log yet. Its proof is here a few seconds after it was issued.</p>`;
  const [origin, size, root] = head.note.split('\n', 3);
  return html`<h2>Proof</h2>
    <p>This document is in the signed log of all invoices, whose head is now:</p>
    <pre><code>${origin}
${size}
${root}</code></pre>
    <p class="pages">
      <a href="?as=proof" download>Download the proof</a> <a href="?as=case_file" download>Case file</a>
    </p>
    <p class="soft">
      With the proof, anybody checks this document offline, without trusting this service: it has each charge, and its
      place in the log. The case file is a page with the proof and the program that verifies it,
      <code>verifier.mjs</code>, for a browser; it names nobody. Both need the public key of the log. Keep the three
      lines: they show later that nothing before them was changed.
    </p>`;
}

/**
 * The proof of a document, or its case file without personal data, by the newest signed head.
 *
 * @throws {PageRefusal} for a document that is not signed yet, or whose period is too large; {EventStoreUnavailable}
 */
export async function proofAnswer(
  { type, account_id: accountId, number, document_number: name }: Document,
  as: 'proof' | 'case_file',
  { exports, ...dependencies }: ProofDependencies,
): Promise<Answer> {
  beginExport(exports, accountId);
  try {
    const text = await writeProof(dependencies, { type, accountId, number, as, mostEvents });
    return as === 'proof'
      ? {
          kind: 'file',
          body: await compress(text),
          mediaType: 'application/gzip',
          fileName: `${name}.proof.json.gz`,
        }
      : { kind: 'file', body: text, mediaType: 'text/html; charset=utf-8', fileName: `${name}.case.html` };
  } catch (error) {
    throw error instanceof NotProvable ? refusalOf(error, name) : error;
  } finally {
    exports.end(accountId);
  }
}

const refusalOf = ({ reason }: NotProvable, name: string): PageRefusal =>
  reason === 'too_large'
    ? new PageRefusal(
        409,
        'Too large for this page',
        `The period of ${name} has more than ${String(mostEvents)} events. Whoever runs the service makes its proof with: reeltally proofs export ${name} --output ${name}.proof.json.gz`,
      )
    : new PageRefusal(
        409,
        'Not signed yet',
        `${name} is not in the signed log yet. It is signed within seconds of its issue, if this service signs. Try again in a minute.`,
      );
