alter table jobs add column title text; -- as the platform gave it; null before the job's end

-- Requests of each API key by day, as the processes of the API have counted them. A statistic: the last seconds of a process that is
-- killed are missing.
create table key_requests (
  account_id text not null,
  key_id text not null,
  day date not null, -- UTC
  answered bigint not null, -- let in, whatever they were answered
  limited bigint not null, -- refused by the hourly limit
  primary key (account_id, day, key_id)
);
create index key_requests_by_day on key_requests (day);
