-- The first periods that should be closed are found without sorting all whose end is the same.
drop index credits_not_closed;
create index credits_not_closed on credits (period_end, account_id) where phase <> 'closed';
