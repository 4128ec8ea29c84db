-- What the service was last started with, for commands that decide by the same settings. Null: it has not run since.
alter table installation add column closing_grace_seconds integer;
alter table installation add column plans jsonb;
