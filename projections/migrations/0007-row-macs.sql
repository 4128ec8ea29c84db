-- Rows that decisions start from carry a MAC under a key that never comes near Postgres: {id of the secret}.{HMAC-SHA-256}.
-- Null: written before there were any; the projector makes such rows anew when it starts.
alter table credits add column mac text; -- over the state at its revision
alter table idempotency_keys add column mac text; -- over the whole row
alter table api_key_window add column mac text; -- over hash, key_id and account_id
