/** Renders the documents in every time zone, one after the other, and prints a digest of each: run as a process of its own. */
import { hash } from 'node:crypto';

import { formatDay, formatDays } from '../../src/documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../src/documents/invoice-csv.ts';
import { creditNotePage, invoicePage } from '../../src/documents/invoice-page.ts';
import { exampleInvoice, exampleNote } from './example-invoice.ts';

/** Every day of two years, one of them a leap year: with the nights on which clocks change anywhere. */
const days = Array.from({ length: 731 }, (_, day) => new Date(Date.UTC(2027, 0, 1 + day)).toISOString());

function render(): string {
  const [invoice, note] = [exampleInvoice(true), exampleNote()];
  const documents = [invoicePage(invoice), invoiceCsv(invoice), JSON.stringify(invoice)];
  const periods = days.map((day, index) => `${formatDay(day)} ${formatDays(days[0] ?? '', days[index + 1] ?? day)}`);
  return [...documents, creditNotePage(note), creditNoteCsv(note), ...periods].join('\n');
}

const digests = Intl.supportedValuesOf('timeZone').map((zone) => {
  process.env['TZ'] = zone;
  return { zone, offset: new Date(2027, 0, 1).getTimezoneOffset(), digest: hash('sha256', render()) };
});
process.stdout.write(JSON.stringify(digests));
