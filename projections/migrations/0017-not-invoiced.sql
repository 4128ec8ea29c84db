-- Accounts of a month of which something is on no invoice.
create index period_money_not_invoiced on period_money (month, account_id)
  where fee_cents + fee_difference_cents + charged_cents - voided_cents - waived_cents
     <> invoiced_overage_cents + invoiced_fee_cents + invoiced_fee_difference_cents;
