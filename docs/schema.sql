-- What the migrations in projections/migrations make, all together; they say what it is for.
-- Written by "npm run update:schema" from a migrated Postgres, and compared with one by "npm run check".

create table account_heads (
  account_id text not null,
  revision bigint not null,
  last_hash text not null,
  closed boolean not null default false,
  erased_at timestamp with time zone,
  documents_until timestamp with time zone,
  constraint account_heads_pkey PRIMARY KEY (account_id)
);
CREATE INDEX erased_accounts ON account_heads USING btree (account_id) WHERE (erased_at IS NOT NULL);

create table api_key_window (
  hash uuid not null,
  key_id text not null,
  account_id text not null,
  hourly_limit integer not null,
  revoked boolean not null default false,
  base timestamp with time zone not null default clock_timestamp(),
  admitted_ms integer[] not null default '{}'::integer[],
  mac text,
  constraint api_key_window_key_id_key UNIQUE (key_id),
  constraint api_key_window_pkey PRIMARY KEY (hash)
) with (fillfactor=50, toast_tuple_target=8160);
alter table api_key_window alter column admitted_ms set storage main;
CREATE INDEX api_key_window_of_account ON api_key_window USING btree (account_id);

create table api_keys (
  key_id text not null,
  account_id text not null,
  key_hash text not null,
  key_prefix text not null,
  label text not null,
  created_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  constraint api_keys_key_hash_key UNIQUE (key_hash),
  constraint api_keys_pkey PRIMARY KEY (key_id)
);
CREATE INDEX api_keys_of_account ON api_keys USING btree (account_id, created_at);
CREATE INDEX api_keys_of_prefix ON api_keys USING btree (key_prefix text_pattern_ops);

create table audit_state (
  only_row boolean not null default true,
  events bigint not null,
  "position" numeric(20,0),
  unknown integer not null,
  known integer not null,
  divergences json not null,
  caught_up_at timestamp with time zone,
  written_at timestamp with time zone not null default clock_timestamp(),
  caught_up_position numeric(20,0),
  notices json not null default '[]'::json,
  constraint audit_state_pkey PRIMARY KEY (only_row),
  constraint audit_state_only_row_check CHECK (only_row)
);

create table checkpoints (
  name text not null,
  "position" numeric(20,0),
  applied_events bigint not null default 0,
  prepare_position numeric(20,0),
  event_position numeric(20,0),
  seen_stream text,
  seen_revision bigint,
  seen_id uuid,
  seen_position numeric(20,0),
  constraint checkpoints_pkey PRIMARY KEY (name)
);

create table console_sessions (
  secret_hash bytea not null,
  session_id text not null,
  account_id text not null,
  person_id text not null,
  browser text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  mac text not null,
  constraint console_sessions_session_id_key UNIQUE (session_id),
  constraint console_sessions_pkey PRIMARY KEY (secret_hash)
);
CREATE INDEX console_sessions_of_person ON console_sessions USING btree (account_id, person_id, started_at);

create table corrections (
  correction_id uuid not null,
  account_id text not null,
  "position" numeric(20,0) not null,
  status text not null,
  revision bigint not null,
  kind text not null,
  correction jsonb not null,
  reference text not null,
  cents bigint not null,
  limit_cents bigint not null,
  needs_approval boolean not null,
  asked_event_id uuid not null,
  asked_at timestamp with time zone not null,
  asked_by jsonb not null,
  decided_event_id uuid,
  decided_at timestamp with time zone,
  decided_by jsonb,
  ended_at timestamp with time zone,
  made_cents bigint,
  why text,
  constraint corrections_pkey PRIMARY KEY (correction_id),
  constraint corrections_kind_check CHECK ((kind = ANY (ARRAY['charges'::text, 'credit_line'::text]))),
  constraint corrections_status_check CHECK ((status = ANY (ARRAY['asked'::text, 'permitted'::text, 'refused'::text, 'made'::text, 'failed'::text])))
);
CREATE INDEX corrections_asked_event ON corrections USING btree (asked_event_id);
CREATE INDEX corrections_by_time ON corrections USING btree ("position");
CREATE INDEX corrections_decided_event ON corrections USING btree (decided_event_id);
CREATE INDEX corrections_of_account ON corrections USING btree (account_id, "position");
CREATE INDEX corrections_of_asker ON corrections USING btree (((asked_by ->> 'id'::text)), "position");
CREATE INDEX corrections_of_reference ON corrections USING btree (reference, "position");
CREATE INDEX corrections_of_status ON corrections USING btree (status, "position");
CREATE INDEX corrections_unfinished ON corrections USING btree (status, "position") WHERE (status = ANY (ARRAY['asked'::text, 'permitted'::text]));

create table credits (
  account_id text not null,
  period_start timestamp with time zone not null,
  period_end timestamp with time zone not null,
  stream text not null,
  revision bigint not null,
  last_hash text not null,
  last_time timestamp with time zone not null,
  phase text not null,
  anchor_day smallint not null,
  plan text not null,
  terms jsonb not null,
  downloads integer not null,
  download_credits integer not null,
  overage_downloads integer not null,
  overage_cents bigint not null,
  metadata_credits integer not null,
  next jsonb,
  lookups integer not null default 0,
  fee_cents bigint not null default 0,
  fee_difference_cents bigint not null default 0,
  due jsonb,
  warned jsonb not null default '[]'::jsonb,
  cap_reached boolean not null default false,
  opening_invoice_due boolean not null default false,
  period_invoice_due boolean not null default false,
  mac text,
  plan_changes integer not null default 0,
  key_use jsonb not null default '{}'::jsonb,
  constraint credits_stream_key UNIQUE (stream),
  constraint credits_pkey PRIMARY KEY (account_id, period_start),
  constraint credits_phase_check CHECK ((phase = ANY (ARRAY['open'::text, 'ended'::text, 'closed'::text])))
);
CREATE INDEX credits_invoice_due ON credits USING btree (account_id) WHERE (opening_invoice_due OR period_invoice_due);
CREATE INDEX credits_not_closed ON credits USING btree (period_end, account_id) WHERE (phase <> 'closed'::text);
CREATE INDEX credits_of_unclosed_last_periods ON credits USING btree (account_id) WHERE ((phase = 'ended'::text) AND ((next IS NULL) OR (next = 'null'::jsonb)));

create table customers (
  account_id text not null,
  customer text not null,
  words text[] not null,
  constraint customers_pkey PRIMARY KEY (account_id)
);
CREATE INDEX customers_by_words ON customers USING gin (words);

create table document_mails (
  event_id uuid not null,
  account_id text not null,
  revision bigint not null,
  "time" timestamp with time zone not null,
  waiting jsonb not null,
  constraint document_mails_pkey PRIMARY KEY (event_id)
);
CREATE INDEX document_mails_by_time ON document_mails USING btree ("time", event_id);
CREATE INDEX document_mails_of_account ON document_mails USING btree (account_id, "time", event_id);
CREATE INDEX document_mails_waiting ON document_mails USING btree ("time") WHERE (waiting <> '[]'::jsonb);

create table hourly_limits (
  account_id text not null,
  hourly_limit integer not null,
  constraint hourly_limits_pkey PRIMARY KEY (account_id)
);

create table idempotency_keys (
  account_id text not null,
  key_hash text not null,
  fingerprint text not null,
  token text not null,
  overage boolean not null,
  stream text not null,
  revision bigint not null,
  confirmed boolean not null default false,
  voided boolean not null default false,
  mac text,
  constraint idempotency_keys_token_key UNIQUE (token),
  constraint idempotency_keys_pkey PRIMARY KEY (account_id, key_hash)
);
CREATE INDEX idempotency_keys_of_hash ON idempotency_keys USING hash (key_hash);

create table installation (
  only_row boolean not null default true,
  secret_id text,
  event_store_prefix text not null default ''::text,
  clock_may_be_shifted boolean,
  closing_grace_seconds integer,
  plans jsonb,
  constraint installation_pkey PRIMARY KEY (only_row),
  constraint installation_only_row_check CHECK (only_row)
);

create table invoices (
  account_id text not null,
  type text not null,
  number integer not null,
  event_id uuid not null,
  revision bigint not null,
  last_hash text not null,
  "position" numeric(20,0) not null,
  "time" timestamp with time zone not null,
  covers text,
  period_start timestamp with time zone,
  total_cents bigint not null,
  data json not null,
  actor json not null,
  constraint invoices_account_id_revision_key UNIQUE (account_id, revision),
  constraint invoices_event_id_key UNIQUE (event_id),
  constraint invoices_pkey PRIMARY KEY (account_id, type, number),
  constraint invoices_type_check CHECK ((type = ANY (ARRAY['InvoiceIssued'::text, 'CreditNoteIssued'::text])))
);
CREATE INDEX credit_notes_by_time ON invoices USING btree ("position") WHERE (type = 'CreditNoteIssued'::text);
CREATE INDEX credit_notes_of_charges ON invoices USING gin ((((data)::jsonb -> 'charges'::text)) jsonb_path_ops) WHERE (type = 'CreditNoteIssued'::text);
CREATE INDEX documents_by_time ON invoices USING btree ("time", "position") INCLUDE (account_id, type, number, total_cents);
CREATE INDEX invoices_by_period ON invoices USING btree (period_start) INCLUDE (account_id, type, number, "time", "position", total_cents) WHERE (type = 'InvoiceIssued'::text);
CREATE INDEX invoices_of_reference ON invoices USING btree (((data ->> 'reference'::text)), "position") WHERE (type = 'CreditNoteIssued'::text);
CREATE INDEX notes_of_invoices ON invoices USING btree (account_id, (((data ->> 'invoice_number'::text))::integer)) WHERE (type = 'CreditNoteIssued'::text);

create table job_days (
  day date not null,
  platform text not null,
  outcome text not null,
  downloads integer not null,
  constraint job_days_pkey PRIMARY KEY (day, platform, outcome)
);

create table job_timeline (
  token text not null,
  "position" numeric(20,0) not null,
  type text not null,
  stream text not null,
  revision bigint not null,
  event_id uuid not null,
  "time" timestamp with time zone not null,
  actor json not null,
  cents bigint,
  data json not null,
  constraint job_timeline_pkey PRIMARY KEY (token, "position")
);
CREATE INDEX job_timeline_of_event ON job_timeline USING btree (event_id);
CREATE INDEX job_timeline_of_video ON job_timeline USING btree (((data ->> 'video_id'::text)), "position") WHERE (type = 'DownloadQueued'::text);

create table jobs (
  token text not null,
  account_id text not null,
  usage_stream text not null,
  usage_revision bigint not null,
  platform text not null,
  video_id text not null,
  url text not null,
  format text not null,
  quality text not null,
  overage boolean not null,
  status text not null,
  revision bigint not null,
  attempts smallint not null,
  worker_id text,
  claim_revision bigint,
  claimed_at timestamp with time zone,
  not_before timestamp with time zone,
  queued_at timestamp with time zone not null,
  waiting_since timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  file_claim_revision bigint,
  file_name text,
  file_mime text,
  file_size_bytes bigint,
  failure_reason text,
  last_hash text,
  file_expired_at timestamp with time zone,
  key_id text,
  cents bigint,
  running_cents bigint,
  ended_position numeric(20,0),
  title text,
  constraint jobs_pkey PRIMARY KEY (token),
  constraint jobs_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'claimed'::text, 'running'::text, 'done'::text, 'failed'::text])))
);
CREATE INDEX jobs_ended ON jobs USING btree (account_id, ended_position) WHERE (ended_position IS NOT NULL);
CREATE INDEX jobs_failed ON jobs USING btree (finished_at, token) WHERE (status = 'failed'::text);
CREATE INDEX jobs_failed_overage ON jobs USING btree (finished_at) WHERE ((status = 'failed'::text) AND overage);
CREATE INDEX jobs_in_turn ON jobs USING btree (status, account_id, waiting_since) WHERE (status = ANY (ARRAY['queued'::text, 'claimed'::text, 'running'::text]));
CREATE INDEX jobs_of_account ON jobs USING btree (account_id, queued_at DESC, token DESC);
CREATE INDEX jobs_of_token_beginning ON jobs USING btree ("left"(token, 10));
CREATE INDEX jobs_unfinished ON jobs USING btree (status, waiting_since) WHERE (status = ANY (ARRAY['queued'::text, 'claimed'::text, 'running'::text]));
CREATE INDEX jobs_with_file ON jobs USING btree (finished_at) WHERE ((status = 'done'::text) AND (file_expired_at IS NULL));

create table key_requests (
  account_id text not null,
  key_id text not null,
  day date not null,
  answered bigint not null,
  limited bigint not null,
  constraint key_requests_pkey PRIMARY KEY (account_id, day, key_id)
);
CREATE INDEX key_requests_by_day ON key_requests USING btree (day);

create table look_ups_of_forms (
  account_id text not null,
  form_hash text not null,
  metadata jsonb,
  begun_at timestamp with time zone not null default clock_timestamp(),
  constraint look_ups_of_forms_pkey PRIMARY KEY (account_id, form_hash)
);
CREATE INDEX look_ups_of_forms_begun ON look_ups_of_forms USING btree (begun_at);

create table mail_claims (
  mail_id text not null,
  claimed_by text not null,
  claimed_at timestamp with time zone not null default clock_timestamp(),
  taken_at timestamp with time zone,
  constraint mail_claims_pkey PRIMARY KEY (mail_id)
);

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
  constraint month_money_pkey PRIMARY KEY (month, phase)
);

create table overage_ledger (
  event_id uuid not null,
  account_id text not null,
  period_start timestamp with time zone not null,
  type text not null,
  token text,
  lookup_id uuid,
  ordinal integer,
  stream text not null,
  revision bigint not null,
  "position" numeric(20,0) not null,
  "time" timestamp with time zone not null,
  cents bigint not null,
  rate_cents bigint,
  rate_version text,
  request_id text not null,
  actor json not null,
  corrects uuid,
  reference text,
  constraint overage_ledger_stream_revision_key UNIQUE (stream, revision),
  constraint overage_ledger_pkey PRIMARY KEY (event_id),
  constraint overage_ledger_check CHECK ((num_nonnulls(token, lookup_id) = 1)),
  constraint overage_ledger_check1 CHECK ((num_nonnulls(rate_cents, rate_version) = ANY (ARRAY[0, 2]))),
  constraint overage_ledger_corrects_check CHECK ((num_nonnulls(ordinal, corrects) = 1)),
  constraint overage_ledger_type_check CHECK ((type = ANY (ARRAY['DownloadCreditDebited'::text, 'OverageCharged'::text, 'MetadataCreditDebited'::text, 'DownloadVoided'::text, 'MetadataCreditVoided'::text, 'ChargeWaived'::text, 'DownloadCreditReturned'::text])))
);
CREATE INDEX overage_ledger_account_id_period_start_position_idx ON overage_ledger USING btree (account_id, period_start, "position");
CREATE INDEX overage_ledger_amounts ON overage_ledger USING btree (account_id, period_start, "position") WHERE (cents <> 0);
CREATE INDEX overage_ledger_corrections ON overage_ledger USING btree (account_id, period_start, "position") WHERE (cents < 0);
CREATE INDEX overage_ledger_corrections_of_download ON overage_ledger USING btree (token) WHERE (corrects IS NOT NULL);
CREATE INDEX overage_ledger_given_back ON overage_ledger USING btree ("position") WHERE (type = ANY (ARRAY['ChargeWaived'::text, 'DownloadCreditReturned'::text]));
CREATE INDEX overage_ledger_given_back_to ON overage_ledger USING btree (account_id, "position") WHERE (type = ANY (ARRAY['ChargeWaived'::text, 'DownloadCreditReturned'::text]));
CREATE INDEX overage_ledger_of_reference ON overage_ledger USING btree (reference, "position") WHERE (reference IS NOT NULL);
CREATE INDEX overage_ledger_of_request ON overage_ledger USING btree (request_id);

create table pending_voids (
  append_id uuid not null,
  account_id text not null,
  stream text not null,
  expected_revision bigint not null,
  events text not null,
  voids jsonb not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint pending_voids_pkey PRIMARY KEY (append_id)
);
CREATE INDEX pending_voids_stream ON pending_voids USING btree (stream);

create table people (
  account_id text not null,
  person_id text not null,
  since timestamp with time zone not null,
  removed_at timestamp with time zone,
  email_mac text not null,
  domain_mac text,
  constraint people_pkey PRIMARY KEY (account_id, person_id)
);
CREATE INDEX people_of_domain ON people USING btree (domain_mac, account_id) WHERE (removed_at IS NULL);
CREATE INDEX people_of_email ON people USING btree (email_mac, account_id) WHERE (removed_at IS NULL);

create table period_closings (
  stream text not null,
  begun_at timestamp with time zone not null default clock_timestamp(),
  constraint period_closings_pkey PRIMARY KEY (stream)
);

create table period_money (
  account_id text not null,
  period_start timestamp with time zone not null,
  month text not null,
  stream text not null,
  plan text not null,
  phase text not null,
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
  constraint period_money_pkey PRIMARY KEY (account_id, period_start),
  constraint period_money_phase_check CHECK ((phase = ANY (ARRAY['open'::text, 'ended'::text, 'closed'::text])))
) with (fillfactor=70);
CREATE INDEX period_money_by_account ON period_money USING btree (month, account_id);
CREATE INDEX period_money_by_charged ON period_money USING btree (month, charged_cents, account_id);
CREATE INDEX period_money_by_charges ON period_money USING btree (month, charges, account_id);
CREATE INDEX period_money_by_credited ON period_money USING btree (month, credited_overage_cents, account_id);
CREATE INDEX period_money_by_difference ON period_money USING btree (month, difference_cents, account_id);
CREATE INDEX period_money_by_invoiced ON period_money USING btree (month, invoiced_overage_cents, account_id);
CREATE INDEX period_money_by_voided ON period_money USING btree (month, voided_cents, account_id);
CREATE INDEX period_money_by_waived ON period_money USING btree (month, waived_cents, account_id);
CREATE INDEX period_money_not_invoiced ON period_money USING btree (month, account_id) WHERE (((((fee_cents + fee_difference_cents) + charged_cents) - voided_cents) - waived_cents) <> ((invoiced_overage_cents + invoiced_fee_cents) + invoiced_fee_difference_cents));

create table personal_keys (
  subject text not null,
  kind text not null,
  wrapped text not null,
  constraint personal_keys_pkey PRIMARY KEY (subject, kind),
  constraint personal_keys_kind_check CHECK ((kind = ANY (ARRAY['personal'::text, 'documents'::text])))
);

create table proof_heads (
  size bigint not null,
  origin text not null,
  root text not null,
  note text not null,
  key text not null,
  revision bigint not null,
  "position" numeric(20,0) not null,
  "time" timestamp with time zone not null,
  constraint proof_heads_revision_key UNIQUE (revision),
  constraint proof_heads_pkey PRIMARY KEY (size)
);

create table proof_leaves (
  leaf_index bigint not null,
  hash text not null,
  type text not null,
  stream text not null,
  revision bigint not null,
  event_id uuid not null,
  "position" numeric(20,0) not null,
  constraint proof_leaves_event_id_key UNIQUE (event_id),
  constraint proof_leaves_pkey PRIMARY KEY (leaf_index)
);

create table proof_nodes (
  level smallint not null,
  node_index bigint not null,
  hash text not null,
  constraint proof_nodes_pkey PRIMARY KEY (level, node_index)
);

create table refused_readers (
  name text not null,
  reason text not null,
  log_position numeric(20,0),
  refused_at timestamp with time zone not null default clock_timestamp(),
  constraint refused_readers_pkey PRIMARY KEY (name)
);

create table resolved_voids (
  append_id uuid not null,
  account_id text not null,
  stream text not null,
  expected_revision bigint not null,
  events text not null,
  voids jsonb not null,
  created_at timestamp with time zone not null,
  resolved_at timestamp with time zone not null default clock_timestamp(),
  constraint resolved_voids_pkey PRIMARY KEY (append_id)
);
CREATE INDEX resolved_voids_by_time ON resolved_voids USING btree (resolved_at);

create table schema_migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table service_failures (
  token text not null,
  noted_at timestamp with time zone not null default clock_timestamp(),
  constraint service_failures_pkey PRIMARY KEY (token)
);
CREATE INDEX service_failures_noted ON service_failures USING btree (noted_at);

create table session_windows (
  account_id text not null,
  admitted timestamp with time zone[] not null,
  constraint session_windows_pkey PRIMARY KEY (account_id)
);

create table sign_in_links (
  secret_hash bytea not null,
  email_hashes text[] not null,
  account_ids text[] not null,
  browser_hash bytea,
  created_at timestamp with time zone not null,
  used_at timestamp with time zone,
  mac text not null,
  constraint sign_in_links_pkey PRIMARY KEY (secret_hash)
);
CREATE INDEX sign_in_links_created ON sign_in_links USING btree (created_at);

create table staff (
  staff_id text not null,
  role text not null,
  invited boolean not null,
  since timestamp with time zone not null,
  removed_at timestamp with time zone,
  mac text not null,
  constraint staff_pkey PRIMARY KEY (staff_id),
  constraint staff_role_check CHECK ((role = ANY (ARRAY['support'::text, 'finance'::text, 'admin'::text])))
);
CREATE INDEX staff_by_time ON staff USING btree (since, staff_id);

create table staff_addresses (
  staff_id text not null,
  email_mac text not null,
  constraint staff_addresses_pkey PRIMARY KEY (staff_id)
);
CREATE INDEX staff_addresses_of_email ON staff_addresses USING btree (email_mac);

create table staff_links (
  secret_hash bytea not null,
  staff_id text not null,
  browser_hash bytea,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  mac text not null,
  constraint staff_links_pkey PRIMARY KEY (secret_hash)
);
CREATE INDEX staff_links_created ON staff_links USING btree (created_at);
CREATE INDEX staff_links_of_person ON staff_links USING btree (staff_id, created_at);

create table staff_looks (
  event_id uuid not null,
  "position" numeric(20,0) not null,
  staff_id text not null,
  account_id text,
  token text,
  page text not null,
  "time" timestamp with time zone not null,
  constraint staff_looks_pkey PRIMARY KEY (event_id)
);
CREATE INDEX staff_looks_by_time ON staff_looks USING btree ("position");
CREATE INDEX staff_looks_of_account ON staff_looks USING btree (account_id, "position");
CREATE INDEX staff_looks_of_person ON staff_looks USING btree (staff_id, "position");
CREATE INDEX staff_looks_of_token ON staff_looks USING btree (token, "position") WHERE (token IS NOT NULL);

create table staff_sessions (
  secret_hash bytea not null,
  session_id text not null,
  staff_id text not null,
  role text not null,
  browser text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  mac text not null,
  constraint staff_sessions_session_id_key UNIQUE (session_id),
  constraint staff_sessions_pkey PRIMARY KEY (secret_hash)
);
CREATE INDEX staff_sessions_of_person ON staff_sessions USING btree (staff_id, started_at);
CREATE INDEX staff_sessions_seen ON staff_sessions USING btree (seen_at);

create table staff_tokens (
  token_hash text not null,
  token_id text not null,
  staff_id text not null,
  prefix text not null,
  label text not null,
  scopes jsonb not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  mac text not null,
  constraint staff_tokens_token_id_key UNIQUE (token_id),
  constraint staff_tokens_pkey PRIMARY KEY (token_hash)
);
CREATE INDEX staff_tokens_of_person ON staff_tokens USING btree (staff_id, created_at, token_id);

create table usage_changes (
  event_id uuid not null,
  account_id text not null,
  stream text not null,
  revision bigint not null,
  "position" numeric(20,0) not null,
  "time" timestamp with time zone not null,
  type text not null,
  constraint usage_changes_pkey PRIMARY KEY (event_id)
);
CREATE INDEX usage_changes_of_account ON usage_changes USING btree (account_id, "position");
CREATE INDEX usage_changes_of_last_ends ON usage_changes USING btree (account_id) WHERE (type = 'UsagePeriodEnded'::text);

create table usage_days (
  stream text not null,
  account_id text not null,
  day date not null,
  downloads integer not null,
  overage_downloads integer not null,
  overage_cents bigint not null,
  metadata_requests integer not null,
  returned_credits integer not null,
  returned_overage_downloads integer not null,
  returned_cents bigint not null,
  returned_metadata_credits integer not null,
  constraint usage_days_pkey PRIMARY KEY (stream, day)
) with (fillfactor=70);

create table usage_warnings (
  event_id uuid not null,
  account_id text not null,
  stream text not null,
  revision bigint not null,
  pool text,
  threshold_percent smallint,
  used bigint,
  credit_limit bigint,
  "time" timestamp with time zone not null,
  message_id text,
  type text not null default 'UsageWarningReached'::text,
  limited_key_id text,
  constraint usage_warnings_pkey PRIMARY KEY (event_id),
  constraint usage_warnings_check CHECK ((num_nonnulls(pool, threshold_percent, used, credit_limit) =
CASE type
    WHEN 'UsageWarningReached'::text THEN 4
    ELSE 0
END)),
  constraint usage_warnings_type_check CHECK ((type = ANY (ARRAY['UsageWarningReached'::text, 'OverageCapReached'::text])))
);
CREATE INDEX usage_warnings_by_time ON usage_warnings USING btree ("time", event_id);
CREATE INDEX usage_warnings_not_mailed ON usage_warnings USING btree ("time") WHERE (message_id IS NULL);
CREATE INDEX usage_warnings_of_account ON usage_warnings USING btree (account_id, "time", event_id);

create table worker_heartbeats (
  worker_id text not null,
  beaten_at timestamp with time zone not null default clock_timestamp(),
  about jsonb,
  constraint worker_heartbeats_pkey PRIMARY KEY (worker_id)
);
