-- The newest credit notes under a reference are found by it alone, however many others there are.
drop index invoices_of_reference;
create index invoices_of_reference on invoices ((data->>'reference'), position) where type = 'CreditNoteIssued';
