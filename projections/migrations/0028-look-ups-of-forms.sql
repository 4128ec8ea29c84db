-- Look-ups that a form of the console has begun: one that is sent again gets the answer of the first time. A row without an
-- answer is of a look-up that is under way, or whose outcome nobody knows.
create table look_ups_of_forms (
  account_id text not null,
  form_hash text not null, -- of the key of the form and what was asked with it
  metadata jsonb,
  begun_at timestamptz not null default clock_timestamp(),
  primary key (account_id, form_hash)
);
create index look_ups_of_forms_begun on look_ups_of_forms (begun_at);
