-- Whether REELTALLY_CLOCK_OFFSET_SECONDS may shift the clock. Null until the first start has decided it; every installation
-- that has started before counts as one with real books.
alter table installation add column clock_may_be_shifted boolean;
update installation set clock_may_be_shifted = false;
