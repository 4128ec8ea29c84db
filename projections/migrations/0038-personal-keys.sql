-- Keys under which events hold personal data, one row per subject (an account, a member of staff) and kind. They are in no event: a
-- subject whose keys are deleted is erased from the log and from every copy of it. The table may be there already: keys of a backup come
-- before the read models, which are built with them.
create table if not exists personal_keys (
  subject text not null,
  kind text not null check (kind in ('personal', 'documents')),
  wrapped text not null, -- {id of the secret}.{32 random bytes, encrypted with a key of the secret}
  primary key (subject, kind)
);

-- The personal data of the account is erased, but for what documents show until then. Null in the second: they show nothing.
alter table account_heads add column erased_at timestamptz, add column documents_until timestamptz;
create index erased_accounts on account_heads (account_id) where erased_at is not null;
