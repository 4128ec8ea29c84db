-- For people who look through an account's downloads, the newest first.
create index jobs_of_account on jobs (account_id, queued_at desc, token desc);
