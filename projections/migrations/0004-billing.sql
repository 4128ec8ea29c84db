-- The rest of a period's decision state, and what its invoices wait for.
alter table credits
  add column lookups integer not null default 0,
  add column fee_cents bigint not null default 0,
  add column fee_difference_cents bigint not null default 0,
  add column due jsonb, -- changes that the next period begins with
  add column warned jsonb not null default '[]', -- warnings given, such as "downloads:80"
  add column cap_reached boolean not null default false,
  add column opening_invoice_due boolean not null default false, -- an account's first fee is not invoiced yet
  add column period_invoice_due boolean not null default false, -- the period is closed and not invoiced yet
  drop constraint credits_phase_check,
  add constraint credits_phase_check check (phase in ('open', 'ended', 'closed'));
-- What the dispatcher's clock looks at: never more than one or two periods of each account.
create index credits_not_closed on credits (period_end) where phase <> 'closed';
create index credits_invoice_due on credits (account_id) where opening_invoice_due or period_invoice_due;

-- Head of a job's own stream: its hash, for the audit.
alter table jobs add column last_hash text;

-- Head of each account's stream, for the audit.
create table account_heads (
  account_id text primary key,
  revision bigint not null,
  last_hash text not null
);

-- Idempotency keys: the newest download of each, whatever its period.
create table idempotency_keys (
  account_id text not null,
  key_hash text not null, -- SHA-256 of the key, hexadecimal
  fingerprint text not null, -- SHA-256 of what was asked for
  token text not null unique,
  overage boolean not null,
  stream text not null,
  revision bigint not null,
  confirmed boolean not null default false,
  voided boolean not null default false,
  primary key (account_id, key_hash)
);

-- Corrections stand in the ledger beside what they correct, with less than nothing.
alter table overage_ledger
  alter column ordinal drop not null,
  add column corrects uuid, -- the charge that is given back, or a part of it
  add column reference text, -- of a waiver
  drop constraint overage_ledger_type_check,
  add constraint overage_ledger_type_check check (type in (
    'DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited',
    'DownloadVoided', 'MetadataCreditVoided', 'ChargeWaived')),
  add constraint overage_ledger_corrects_check check (num_nonnulls(ordinal, corrects) = 1);

-- Warnings that an owner is to hear of, and whether a mail server has taken them.
create table usage_warnings (
  event_id uuid primary key,
  account_id text not null,
  stream text not null,
  revision bigint not null,
  pool text not null,
  threshold_percent smallint not null,
  used integer not null,
  credit_limit integer not null,
  time timestamptz not null, -- the event's own
  message_id text -- null: not mailed yet
);
create index usage_warnings_not_mailed on usage_warnings (time) where message_id is null;

-- Invoices and credit notes, one row per document.
create table invoices (
  account_id text not null,
  type text not null check (type in ('InvoiceIssued', 'CreditNoteIssued')),
  number integer not null,
  event_id uuid not null unique,
  revision bigint not null,
  last_hash text not null,
  position numeric(20) not null, -- commit position of the log
  time timestamptz not null, -- the event's own
  covers text, -- of an invoice: opening, period
  period_start timestamptz, -- of an invoice
  total_cents bigint not null,
  data json not null,
  actor json not null,
  primary key (account_id, type, number),
  unique (account_id, revision)
);

-- From here on: what is nowhere but here.

-- Appends whose outcome was not known when the client was told that nothing was queued: once it is, what was stored is voided.
create table pending_voids (
  append_id uuid primary key, -- id of the append's first event
  account_id text not null,
  stream text not null,
  expected_revision bigint not null, -- -1: no stream
  events text not null, -- the append as it was sent, JSON
  voids jsonb not null, -- what to void of it: [{"kind": "download", "token": …} or {"kind": "lookup", "lookup_id": …}]
  created_at timestamptz not null default clock_timestamp()
);
create index pending_voids_stream on pending_voids (stream);

-- Usage streams whose books are being closed: nothing of them may become a pending void any more.
create table period_closings (
  stream text primary key,
  begun_at timestamptz not null default clock_timestamp()
);

-- Who sends a warning: claimed before the mail server is spoken to.
create table warning_mails (
  event_id uuid primary key,
  claimed_by text not null,
  claimed_at timestamptz not null default clock_timestamp(),
  taken_at timestamptz -- the mail server has taken it: whoever claims it from then on only records it
);
