-- Members of staff. Their e-mail addresses stand in the log alone.
create table staff (
  staff_id text primary key,
  role text not null check (role in ('support', 'finance', 'admin')),
  invited boolean not null, -- false: the OpenID provider knows the person
  since timestamptz not null,
  removed_at timestamptz,
  mac text not null -- over all
);
create index staff_by_time on staff (since, staff_id);

-- A MAC of the newest address of each, so that an address finds its person: {id of the secret}.{HMAC-SHA-256}.
create table staff_addresses (
  staff_id text primary key,
  email_mac text not null
);
create index staff_addresses_of_email on staff_addresses (email_mac);

-- Tokens for programs.
create table staff_tokens (
  token_hash text primary key, -- SHA-256, hexadecimal
  token_id text not null unique,
  staff_id text not null,
  prefix text not null,
  label text not null,
  scopes jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  mac text not null -- over all
);
create index staff_tokens_of_person on staff_tokens (staff_id, created_at, token_id);

-- Who has looked at whose data.
create table staff_looks (
  event_id uuid primary key,
  position numeric(20) not null, -- commit position in the log
  staff_id text not null,
  account_id text not null,
  token text, -- of the download that was looked at
  page text not null,
  time timestamptz not null
);
create index staff_looks_by_time on staff_looks (position);
create index staff_looks_of_token on staff_looks (token, position) where token is not null;
create index staff_looks_of_account on staff_looks (account_id, position);
create index staff_looks_of_person on staff_looks (staff_id, position);

-- What staff ask to give back in the console, and what came of it.
create table corrections (
  correction_id uuid primary key,
  account_id text not null,
  position numeric(20) not null, -- of CorrectionAsked
  status text not null check (status in ('asked', 'permitted', 'refused', 'made', 'failed')),
  revision bigint not null, -- of the newest event about it
  kind text not null check (kind in ('waive_charge', 'waive_charges', 'credit_line')),
  correction jsonb not null,
  reference text not null,
  cents bigint not null, -- the most that it may give back
  limit_cents bigint not null,
  needs_approval boolean not null,
  asked_event_id uuid not null,
  asked_at timestamptz not null,
  asked_by jsonb not null, -- the actor
  decided_event_id uuid, -- CorrectionApproved or CorrectionRefused
  decided_at timestamptz,
  decided_by jsonb,
  ended_at timestamptz,
  made_cents bigint,
  why text -- nothing was given back
);
create index corrections_by_time on corrections (position);
create index corrections_unfinished on corrections (status, position) where status in ('asked', 'permitted');
create index corrections_of_account on corrections (account_id, position);
create index corrections_of_asker on corrections ((asked_by->>'id'), position);
create index corrections_of_status on corrections (status, position);
create index corrections_of_reference on corrections (reference, position);
create index corrections_asked_event on corrections (asked_event_id);
create index corrections_decided_event on corrections (decided_event_id);

-- The money of each account and billing period, whichever document invoices or credits it: the fee of a period is invoiced with
-- the period before, and counts here for the period that it pays. Each account has one period that begins in a calendar month.
-- Each batch of charges changes rows: room in the page.
create table period_money (
  account_id text not null,
  period_start timestamptz not null,
  month text not null, -- of period_start, YYYY-MM
  stream text not null, -- usage stream
  plan text not null,
  phase text not null check (phase in ('open', 'ended', 'closed')),
  charges integer not null, -- downloads beyond the allowance
  charged_cents bigint not null, -- for them
  voided_cents bigint not null,
  waived_cents bigint not null,
  fee_cents bigint not null, -- at the opening
  fee_difference_cents bigint not null, -- added by upgrades
  invoiced_overage_cents bigint not null, -- less waivers
  invoiced_fee_cents bigint not null,
  invoiced_fee_difference_cents bigint not null,
  credited_overage_cents bigint not null, -- by credit notes
  credited_fee_cents bigint not null, -- with differences
  -- Overage that no invoice carries: charged less voided, waived and invoiced.
  difference_cents bigint not null,
  primary key (account_id, period_start)
) with (fillfactor = 70);
create index period_money_by_account on period_money (month, account_id);
create index period_money_by_charges on period_money (month, charges, account_id);
create index period_money_by_charged on period_money (month, charged_cents, account_id);
create index period_money_by_voided on period_money (month, voided_cents, account_id);
create index period_money_by_waived on period_money (month, waived_cents, account_id);
create index period_money_by_credited on period_money (month, credited_overage_cents, account_id);
create index period_money_by_invoiced on period_money (month, invoiced_overage_cents, account_id);
create index period_money_by_difference on period_money (month, difference_cents, account_id);

-- Their sums by month and phase.
create table month_money (
  month text not null,
  phase text not null,
  periods integer not null,
  charges integer not null,
  charged_cents bigint not null,
  voided_cents bigint not null,
  waived_cents bigint not null,
  fee_cents bigint not null,
  fee_difference_cents bigint not null,
  invoiced_overage_cents bigint not null,
  invoiced_fee_cents bigint not null,
  invoiced_fee_difference_cents bigint not null,
  credited_overage_cents bigint not null,
  credited_fee_cents bigint not null,
  difference_cents bigint not null,
  primary key (month, phase)
);

-- How many downloads ended on each UTC day, and how.
create table job_days (
  day date not null,
  platform text not null,
  outcome text not null, -- `done`, or the reason of the failure
  downloads integer not null,
  primary key (day, platform, outcome)
);
insert into job_days
select (finished_at at time zone 'utc')::date, platform, coalesce(failure_reason, 'done'), count(*)
from jobs where status in ('done', 'failed') group by 1, 2, 3;

-- The period's overage directly after the charge, less what was given back by then. Null in rows of downloads that were queued
-- before; a rebuild fills it in.
alter table jobs add column running_cents bigint;

-- Search. The rows of these tables are only added, so each costs one entry.
create index job_timeline_of_event on job_timeline (event_id);
create index job_timeline_of_video on job_timeline ((data->>'video_id'), position) where type = 'DownloadQueued';
create index overage_ledger_amounts on overage_ledger (account_id, period_start, position) where cents <> 0;
create index overage_ledger_corrections on overage_ledger (account_id, period_start, position) where cents < 0;
create index overage_ledger_of_request on overage_ledger (request_id);
create index overage_ledger_of_reference on overage_ledger (reference, position) where reference is not null;
create index idempotency_keys_of_hash on idempotency_keys using hash (key_hash);
create index api_keys_of_prefix on api_keys (key_prefix text_pattern_ops);
create index invoices_of_reference on invoices ((data->>'reference')) where type = 'CreditNoteIssued';

-- What was given back, the newest first.
create index overage_ledger_given_back on overage_ledger (position) where type in ('ChargeWaived', 'DownloadCreditReturned');
create index overage_ledger_given_back_to on overage_ledger (account_id, position)
  where type in ('ChargeWaived', 'DownloadCreditReturned');
create index credit_notes_by_time on invoices (position) where type = 'CreditNoteIssued';

-- Notices and mails, the newest first: everybody's, and those of an account.
-- What an outage failed.
create index jobs_failed_overage on jobs (finished_at) where status = 'failed' and overage;

-- Notices and mails, the newest first.
create index usage_warnings_by_time on usage_warnings (time, event_id);
create index document_mails_by_time on document_mails (time, event_id);
create index usage_warnings_of_account on usage_warnings (account_id, time, event_id);
create index document_mails_of_account on document_mails (account_id, time, event_id);

-- Failed downloads, the newest first.
create index jobs_failed on jobs (finished_at, token) where status = 'failed';

-- From here on: what is nowhere but here.

-- One-time links that sign a member of staff in. Their secrets are only in the mails or on the terminal.
create table staff_links (
  secret_hash bytea primary key, -- SHA-256
  staff_id text not null,
  browser_hash bytea, -- SHA-256 of the secret of the browser that asked; null: the service has printed the link
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  mac text not null -- over all but used_at
);
create index staff_links_created on staff_links (created_at);
create index staff_links_of_person on staff_links (staff_id, created_at);

-- Sessions of staff. Their secrets are only in the cookies.
create table staff_sessions (
  secret_hash bytea primary key, -- SHA-256
  session_id text not null unique, -- names the session in a list
  staff_id text not null,
  role text not null, -- at the sign-in
  browser text not null, -- the browser's own description of itself
  started_at timestamptz not null,
  seen_at timestamptz not null,
  mac text not null -- over secret_hash, session_id, staff_id, role and started_at
);
create index staff_sessions_of_person on staff_sessions (staff_id, started_at);
create index staff_sessions_seen on staff_sessions (seen_at);

-- What the continuous verification says.
create table audit_state (
  only_row boolean primary key default true check (only_row),
  events bigint not null, -- verified since the start
  position numeric(20), -- commit position in the log up to which everything is verified
  unknown integer not null, -- divergences that nobody has acknowledged
  known integer not null, -- those that somebody has
  divergences json not null, -- the first of them; as text, because the order of fields is a part of a fact
  caught_up_at timestamptz, -- the newest time at which all of the log was verified
  written_at timestamptz not null default clock_timestamp()
);

-- What a worker says about itself: its slots, guards, versions and host.
alter table worker_heartbeats add column about jsonb;
