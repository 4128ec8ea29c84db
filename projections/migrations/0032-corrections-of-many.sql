-- One kind of correction for charges, however many and whether the books of their period are closed.
alter table corrections drop constraint corrections_kind_check;
alter table corrections add constraint corrections_kind_check check (kind in ('charges', 'credit_line'));
