-- The newest event that a reader has received: the log must still have it when the reader goes on. Null: none since this column
-- exists.
alter table checkpoints add column seen_stream text;
alter table checkpoints add column seen_revision bigint;
alter table checkpoints add column seen_id uuid;
alter table checkpoints add column seen_position numeric(20);

-- Readers that do not go on, because the log does not have what they have read. While there is one, no request is admitted.
create table refused_readers (
  name text primary key,
  reason text not null,
  log_position numeric(20), -- newest event of the log when the reader was refused first; null: the log was empty
  refused_at timestamptz not null default clock_timestamp()
);
