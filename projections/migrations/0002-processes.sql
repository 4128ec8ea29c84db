-- What exists only in Postgres: it is not in the log, because nothing about money depends on it.

-- One row per worker process, by Postgres's clock: a claim whose worker has none, or an old one, is stale.
create table worker_heartbeats (
  worker_id text primary key,
  beaten_at timestamptz not null default clock_timestamp()
);

-- Facts about this installation: the id of the secret that every process must share.
create table installation (
  only_row boolean primary key default true check (only_row),
  secret_id text not null
);
