-- What keys have used of the limits that their owners have set, and accounts that are closed.
alter table credits add column key_use jsonb not null default '{}';

alter table account_heads add column closed boolean not null default false;

-- A warning of the limit of one key names it.
alter table usage_warnings add column limited_key_id text;
alter table usage_warnings alter column credit_limit type bigint, alter column used type bigint;
create index credits_of_unclosed_last_periods on credits (account_id) where phase = 'ended' and (next is null or next = 'null');

-- Where the changes of an account's terms stand among its charges.
create table usage_changes (
  event_id uuid primary key,
  account_id text not null,
  stream text not null,
  revision bigint not null,
  position numeric(20) not null,
  time timestamptz not null,
  type text not null
);
create index usage_changes_of_account on usage_changes (account_id, position);
-- An account's last period ends once.
create index usage_changes_of_last_ends on usage_changes (account_id) where type = 'UsagePeriodEnded';
