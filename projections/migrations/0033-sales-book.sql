-- All documents in the order of the log, and those of a month.
create index documents_by_place on invoices (position);
create index documents_by_time on invoices (time, position);
