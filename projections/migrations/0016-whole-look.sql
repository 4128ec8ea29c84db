-- The position up to which the log was verified at caught_up_at: a look that begins anew has a position of its own.
alter table audit_state add column caught_up_position numeric(20);
