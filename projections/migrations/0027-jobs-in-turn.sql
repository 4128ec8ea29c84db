-- Accounts are served in turn, and each account's downloads by age; the same index counts what an account has in progress.
create index jobs_in_turn on jobs (status, account_id, waiting_since)
  where status in ('queued', 'claimed', 'running');
