import type { MoneyCounts } from './period-money.ts';

interface OverageColumn {
  name: keyof MoneyCounts;
  /** Sorts a table by it, in an address. */
  sort: string;
  label: string;
  says: string;
}

/** The overage of billing periods, in the order and the words of each table, sum, file and schema that has it. */
export const overageColumns = [
  { name: 'charges', sort: 'charges', label: 'Charges', says: 'Downloads beyond the allowance.' },
  { name: 'charged_cents', sort: 'charged', label: 'Charged', says: 'Their price, in cents.' },
  {
    name: 'voided_cents',
    sort: 'voided',
    label: 'Voided',
    says: 'Voided, because the client was told that nothing was queued, in cents.',
  },
  {
    name: 'waived_cents',
    sort: 'waived',
    label: 'Waived',
    says: 'Waived before the period was closed, in cents.',
  },
  {
    name: 'credited_overage_cents',
    sort: 'credited',
    label: 'Credited',
    says: 'Given back by credit notes, in cents.',
  },
  {
    name: 'invoiced_overage_cents',
    sort: 'invoiced',
    label: 'Invoiced',
    says: 'On invoices, less what was waived, in cents.',
  },
  {
    name: 'difference_cents',
    sort: 'difference',
    label: 'Difference',
    says: 'Charged less voided, waived and invoiced: what no invoice carries, in cents.',
  },
] as const satisfies readonly OverageColumn[];

export type OverageCounts = Pick<MoneyCounts, (typeof overageColumns)[number]['name']>;
