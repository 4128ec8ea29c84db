-- The people of each account. Their e-mail addresses stand in the log alone, under keys that can be deleted: here is a MAC of each
-- under a key that never comes near Postgres, so that an address finds its accounts: {id of the secret}.{HMAC-SHA-256}.
create table people (
  account_id text not null,
  person_id text not null,
  since timestamptz not null,
  removed_at timestamptz,
  email_mac text not null,
  primary key (account_id, person_id)
);
create index people_of_email on people (email_mac, account_id) where removed_at is null;

-- What each UTC day of a billing period was charged, and what was given back on it.
-- Each batch of downloads changes the row of its day: room in the page keeps such a change out of the index.
create table usage_days (
  stream text not null, -- of the billing period
  account_id text not null,
  day date not null,
  downloads integer not null,
  overage_downloads integer not null, -- of them
  overage_cents bigint not null,
  metadata_requests integer not null,
  returned_credits integer not null,
  returned_overage_downloads integer not null,
  returned_cents bigint not null,
  returned_metadata_credits integer not null,
  primary key (stream, day)
) with (fillfactor = 70);

-- For lists of downloads. Null in rows of downloads that were queued before; a rebuild fills them in.
alter table jobs add column key_id text; -- of the request; null too if it came without an API key
alter table jobs add column cents bigint; -- of the charge: 0 for a credit
