import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { formatDay, formatDays } from '../../src/documents/days.ts';
import { creditNoteCsv, invoiceCsv } from '../../src/documents/invoice-csv.ts';
import { creditNotePage, invoicePage } from '../../src/documents/invoice-page.ts';
import { inEachZone } from '../support/time-zones.ts';
import { exampleInvoice, exampleNote } from './example-invoice.ts';

/** Every day of two years, one of them a leap year: with the nights on which clocks change anywhere. */
const days = Array.from({ length: 731 }, (_, day) => new Date(Date.UTC(2027, 0, 1 + day)).toISOString());

function render(): string {
  const [invoice, note] = [exampleInvoice(true), exampleNote()];
  const documents = [invoicePage(invoice), invoiceCsv(invoice), JSON.stringify(invoice)];
  const periods = days.map((day, index) => `${formatDay(day)} ${formatDays(days[0] ?? '', days[index + 1] ?? day)}`);
  return [...documents, creditNotePage(note), creditNoteCsv(note), ...periods].join('\n');
}

it('invoices and credit notes are the same bytes in every time zone', () => {
  const digests = inEachZone(Intl.supportedValuesOf('timeZone'), () => ({
    offset: new Date(2027, 0, 1).getTimezoneOffset(),
    digest: hash('sha256', render()),
  }));
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(1);
  // Were the zones not taken on, the proof would be of one zone many times.
  expect(new Set(digests.map(({ offset }) => offset)).size).toBeGreaterThan(20);
  expect(digests.length).toBeGreaterThan(400);
});
