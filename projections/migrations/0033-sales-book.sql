-- Documents by the month of their issue, invoices by that of their period, and the credit notes of an invoice. The first two have
-- all that finds and sums up documents.
create index documents_by_time on invoices (time, position) include (account_id, type, number, total_cents);
create index invoices_by_period on invoices (period_start) include (account_id, type, number, time, position, total_cents)
  where type = 'InvoiceIssued';
create index notes_of_invoices on invoices (account_id, ((data->>'invoice_number')::int)) where type = 'CreditNoteIssued';
