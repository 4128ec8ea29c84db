-- Invoices and credit notes that people are mailed about. Older ones say of nobody that they are: they have no row.
create table document_mails (
  event_id uuid primary key, -- of the invoice or credit note
  account_id text not null,
  revision bigint not null, -- in the account's stream of invoices
  time timestamptz not null, -- the event's own
  waiting jsonb not null -- ids of the people whose mail is not recorded yet
);
create index document_mails_waiting on document_mails (time) where waiting <> '[]';

-- From here on: what is nowhere but here.

-- Claims are for every kind of mail.
alter table warning_mails rename to mail_claims;
alter table mail_claims rename constraint warning_mails_pkey to mail_claims_pkey;
alter table mail_claims rename column event_id to mail_id;
alter table mail_claims alter column mail_id type text;
