-- Commit position of the event that ended a download; null before its end, and in a row from before the column.
alter table jobs add column ended_position numeric(20);
-- The downloads of an account in the order in which they ended.
create index jobs_ended on jobs (account_id, ended_position) where ended_position is not null;
-- What was given back of a download: by corrections of its charge, and by credit notes about it.
create index overage_ledger_corrections_of_download on overage_ledger (token) where corrects is not null;
create index credit_notes_of_charges on invoices using gin ((data::jsonb -> 'charges') jsonb_path_ops)
  where type = 'CreditNoteIssued';
