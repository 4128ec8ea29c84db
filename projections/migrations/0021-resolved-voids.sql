-- Pending voids that were resolved, for at least seven days. The event that resolved one may be behind the end of a log that was
-- copied meanwhile: the backup takes such rows too, and its restore makes them pending again.
create table resolved_voids (
  append_id uuid primary key,
  account_id text not null,
  stream text not null,
  expected_revision bigint not null,
  events text not null,
  voids jsonb not null, -- the charges of the append that were resolved, as they stood in pending_voids
  created_at timestamptz not null,
  resolved_at timestamptz not null default clock_timestamp() -- the newest of them
);
create index resolved_voids_by_time on resolved_voids (resolved_at);
