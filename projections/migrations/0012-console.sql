-- From here on: what is nowhere but here.

-- Links that sign a person in to the console, each once. Their secrets are only in the mails.
create table sign_in_links (
  secret_hash bytea primary key, -- SHA-256
  email_hashes text[] not null, -- of the address that asked, as people have them
  account_ids text[] not null, -- the accounts of that address when it asked: each is sent so many links an hour
  browser_hash bytea, -- SHA-256 of the secret of the browser that asked; null: the service has printed the link
  created_at timestamptz not null,
  used_at timestamptz,
  mac text not null -- over all but used_at
);
create index sign_in_links_created on sign_in_links (created_at);

-- Sessions of people in the console. Their secrets are only in the cookies.
create table console_sessions (
  secret_hash bytea primary key, -- SHA-256
  session_id text not null unique, -- names the session in a list
  account_id text not null,
  person_id text not null,
  browser text not null, -- the browser's own description of itself
  started_at timestamptz not null,
  seen_at timestamptz not null,
  mac text not null -- over secret_hash, account_id, person_id and started_at
);
create index console_sessions_of_person on console_sessions (account_id, person_id, started_at);

-- POST /auth/key with a session: one exact hourly window for each account.
create table session_windows (
  account_id text primary key,
  admitted timestamptz[] not null -- ascending
);
