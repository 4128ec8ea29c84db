-- Read models: all of this can be rebuilt from the log.

-- How far each runner has come. Rows of a read model and its checkpoint commit together.
create table checkpoints (
  name text primary key,
  position numeric(20) -- commit position of the log; null: nothing applied yet
);

-- Credit balance: one row per account and billing period, holding the period's whole decision state at a revision.
create table credits (
  account_id text not null,
  period_start timestamptz not null,
  period_end timestamptz not null,
  stream text not null unique,
  revision bigint not null,
  last_hash text not null,
  last_time timestamptz not null,
  phase text not null check (phase in ('open', 'ended')),
  anchor_day smallint not null,
  plan text not null,
  terms jsonb not null,
  downloads integer not null,
  download_credits integer not null,
  overage_downloads integer not null,
  overage_cents bigint not null,
  metadata_credits integer not null,
  next jsonb,
  primary key (account_id, period_start)
);

-- Job status: one row per download, from DownloadQueued on.
create table jobs (
  token text primary key,
  account_id text not null,
  usage_stream text not null,
  usage_revision bigint not null,
  platform text not null,
  video_id text not null,
  url text not null,
  format text not null,
  quality text not null,
  overage boolean not null,
  status text not null check (status in ('queued', 'claimed', 'running', 'done', 'failed')),
  -- revision of the last event of the job's own stream; -1 if there is none
  revision bigint not null,
  attempts smallint not null,
  worker_id text,
  claim_revision bigint,
  claimed_at timestamptz,
  not_before timestamptz,
  queued_at timestamptz not null,
  -- when it last became queued, for the sweeper
  waiting_since timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  file_claim_revision bigint,
  file_name text,
  file_mime text,
  file_size_bytes bigint,
  failure_reason text
);
-- What the sweeper looks at: never more than the work in hand.
create index jobs_unfinished on jobs (status, waiting_since) where status in ('queued', 'claimed', 'running');

-- API keys as people list them.
create table api_keys (
  key_id text primary key,
  account_id text not null,
  key_hash text not null unique,
  key_prefix text not null,
  label text not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index api_keys_of_account on api_keys (account_id, created_at);

-- The hourly limit that an account's terms give to each of its keys.
create table hourly_limits (
  account_id text primary key,
  hourly_limit integer not null
);

-- Admission of requests, one row per key: whether it is valid, and its rolling window (see projections/admission/admission.ts).
-- The projection inserts rows and sets hourly_limit and revoked; base and admitted_ms exist only here.
create table api_key_window (
  hash uuid primary key, -- first 128 bits of the key's SHA-256
  key_id text not null unique,
  account_id text not null,
  hourly_limit integer not null,
  revoked boolean not null default false,
  base timestamptz not null default clock_timestamp(),
  admitted_ms int4[] not null default '{}' -- instants of admission, in milliseconds since base, ascending
) with (fillfactor = 50, toast_tuple_target = 8160);
alter table api_key_window alter column admitted_ms set storage main;
create index api_key_window_of_account on api_key_window (account_id);
