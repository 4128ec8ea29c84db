-- How many events each runner has applied since this column exists: its difference over a time is a runner's speed.
alter table checkpoints add column applied_events bigint not null default 0;

-- Overage ledger: one row per charge event, those of a credit (0 cents) included. Rows are only ever added.
create table overage_ledger (
  event_id uuid primary key,
  account_id text not null,
  period_start timestamptz not null,
  type text not null check (type in ('DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited')),
  token text, -- of the download that was charged
  lookup_id uuid, -- of the lookup that was charged
  ordinal integer not null,
  stream text not null,
  revision bigint not null,
  position numeric(20) not null, -- commit position of the log
  time timestamptz not null, -- the event's own
  cents bigint not null,
  rate_cents bigint, -- null: a credit, no rate applied
  rate_version text,
  request_id text not null,
  actor json not null,
  check (num_nonnulls(token, lookup_id) = 1),
  check (num_nonnulls(rate_cents, rate_version) in (0, 2)),
  unique (stream, revision)
);
create index on overage_ledger (account_id, period_start, position);

-- Job timeline: every event of a download, of its usage stream and of its own. Rows are only ever added.
create table job_timeline (
  token text not null,
  position numeric(20) not null, -- commit position of the log
  type text not null,
  stream text not null,
  revision bigint not null,
  event_id uuid not null,
  time timestamptz not null, -- the event's own
  actor json not null,
  cents bigint, -- null: not a charge
  data json not null, -- json, not jsonb: people read it in the order in which it was written
  primary key (token, position)
);
