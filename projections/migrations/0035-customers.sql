-- What staff call an account, and the words by which they find it. Names and addresses are personal data: here they are encrypted, and
-- words are MACs.
create table customers (
  account_id text primary key,
  customer text not null, -- name on invoices, else the address that the account was opened with; encrypted
  words text[] not null -- MACs of the beginnings of the name's words, and of the tax ID
);
create index customers_by_words on customers using gin (words);

-- MAC of the part of an e-mail address behind the @.
alter table people add column domain_mac text;
create index people_of_domain on people (domain_mac, account_id) where removed_at is null;

-- A look at the names in lists is at no one account.
alter table staff_looks alter column account_id drop not null;

-- People send a token's beginning.
create index jobs_of_token_beginning on jobs (left(token, 10));
