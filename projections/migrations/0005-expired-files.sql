-- When the file of a finished download expired: the event's own time. Null: it has none, or is still given out.
alter table jobs add column file_expired_at timestamptz;
-- Whose turn it is to expire: never more than the files that are given out.
create index jobs_with_file on jobs (finished_at) where status = 'done' and file_expired_at is null;
