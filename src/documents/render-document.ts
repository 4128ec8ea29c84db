import { creditNoteCsv, invoiceCsv } from './invoice-csv.ts';
import type { CreditNoteDocument, InvoiceDocument } from './invoice-document.ts';
import { creditNotePage, invoicePage } from './invoice-page.ts';
import { creditNoteText, invoiceText } from './invoice-text.ts';
import type { Width } from './text.ts';

export const documentFormats = ['text', 'json', 'csv', 'html'] as const;
export type DocumentFormat = (typeof documentFormats)[number];

/** @param width of a terminal that text goes to */
export function renderDocument(
  document: InvoiceDocument | CreditNoteDocument,
  format: DocumentFormat,
  width: Width = { columns: undefined },
): string {
  const isNote = document.type === 'credit_note';
  switch (format) {
    case 'json':
      return `${JSON.stringify(document, null, 2)}\n`;
    case 'csv':
      return isNote ? creditNoteCsv(document) : invoiceCsv(document);
    case 'html':
      return isNote ? creditNotePage(document) : invoicePage(document);
    case 'text':
      return isNote ? creditNoteText(document, width) : invoiceText(document, width);
  }
}
