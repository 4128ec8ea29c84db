-- What the rules allow, and finance should look at all the same: the newest of them, as the continuous verification lists them.
alter table audit_state add column notices json not null default '[]';
