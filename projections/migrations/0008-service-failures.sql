-- A credit that is given back stands in the ledger like other corrections.
alter table overage_ledger
  drop constraint overage_ledger_type_check,
  add constraint overage_ledger_type_check check (type in (
    'DownloadCreditDebited', 'OverageCharged', 'MetadataCreditDebited',
    'DownloadVoided', 'MetadataCreditVoided', 'ChargeWaived', 'DownloadCreditReturned'));

alter table credits add column plan_changes integer not null default 0; -- in this period

-- Terms of before did not say that failures of the service are given back: they are.
update credits set
  terms = '{"service_failures_returned": true}' || terms,
  next = case when next is null or next = 'null' then next
    else jsonb_set(next, '{terms}', '{"service_failures_returned": true}' || (next->'terms')) end,
  due = case when due ? 'plan' then jsonb_set(due, '{plan}', '{"service_failures_returned": true}' || (due->'plan'))
    else due end;

-- Owners hear of their ceiling as they do of their pools.
alter table usage_warnings
  add column type text not null default 'UsageWarningReached' check (type in ('UsageWarningReached', 'OverageCapReached')),
  alter column pool drop not null,
  alter column threshold_percent drop not null,
  alter column used drop not null,
  alter column credit_limit drop not null,
  add check (num_nonnulls(pool, threshold_percent, used, credit_limit) = case type when 'UsageWarningReached' then 4 else 0 end);

-- From here on: what is nowhere but here.

-- Downloads that failed by the service's fault, until the dispatcher has looked at what is to be given back.
create table service_failures (
  token text primary key,
  noted_at timestamptz not null default clock_timestamp()
);
create index service_failures_noted on service_failures (noted_at);
