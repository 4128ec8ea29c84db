/**
 * Every rule that a divergence may name, and its text. The names are stable, because stored acknowledgements carry them.
 * docs/audit.md has the same list.
 */
export const rules = {
  event_form: 'an event has exactly the fields of its schema, each with an allowed value',
  chain_revision: 'the revisions of a stream begin at 0 and have no gap',
  chain_hash: 'each event is chained to the one before it by SHA-256',
  chain_time: 'times never go back within a stream',
  stream_truncated: 'no stream metadata hides events of a stream about money ($tb, $maxCount, $maxAge, a deletion)',
  log_end: 'the log reaches as far as the read models',
  actor_key: 'an API key acts for the account that it was issued to, and only once it is issued',
  actor_key_revoked: 'a revoked API key does nothing from 10 s after its revocation on',
  actor_person: 'a person acts for an account only while being one of its people',
  account_events:
    'an account is opened once; keys are issued once and revoked once; people are invited once and removed once, but never the last',
  details_actor:
    'billing details of an account are changed by its people, staff or the service; those of the issuer by staff or the service',
  account_terms: 'the first billing period follows from the day on which the account was opened',
  period_account: 'a billing period belongs to an account that was opened',
  period_order: 'events of a billing period come only while its phase allows them',
  period_follows: 'billing periods follow each other without a gap, each with the terms that the one before ended with',
  period_time: 'events of an open period are stamped within it; it ends when it is over, not before',
  period_missing: 'the next billing period is opened within an hour',
  period_not_ended: 'a billing period ends within a day after it is over',
  period_not_closed: 'the books of a billing period are closed, 31 days after it ended at the latest',
  period_totals: 'a closed period has the totals of its events',
  append_whole: 'the consequences of an event follow it in the same append',
  charge_due: 'a credit is taken while there is one, else the overage rate, if the terms have one',
  charge_rate: 'an overage charge has the rate and the price list in force',
  charge_ordinal: 'downloads and metadata requests of a period are counted 1, 2, 3 …',
  charge_once: 'a token is charged once',
  overage_cap: 'the sum of charges stays within the overage cap in force',
  plan_change:
    'a change of plan says when it takes effect and, for the next period, that an owner has chosen it, and adds the difference to the higher fee, nothing else',
  account_suspended:
    'staff suspend an account and lift that; while it is suspended, nothing is charged, a period that begins has no fee, and nobody changes its plan',
  account_closed:
    'staff close an account: its last period ends, and within an hour its keys are revoked; its people may ask for it',
  account_erased: 'staff erase the personal data of an account, once, after it is closed; nothing of its own follows',
  personal_key: 'personal data of an account that is not erased has its key, outside of the log',
  key_limit: 'the charges of an API key stay within the limit that it has, and name it',
  key_limit_actor: 'limits of API keys are set by people of the account, staff or the service, never with a key',
  notice_mailed: 'a mail is recorded once, for a notice that was given',
  correction_charge: 'a correction names a charge of its period that is not voided',
  correction_amount: 'a correction gives back the charge, or less',
  correction_actor:
    'waivers and credit notes are asked for by staff with a reason, or follow from a failure of the service',
  correction_reference: 'a reference is used for one correction of a charge',
  void_confirmed: 'a download is confirmed or voided, never both',
  service_failure_returned: 'a failure of the service is given back within an hour, if the terms say so',
  service_failure_unfounded: 'the service gives back once for each failure of its own, and for nothing else',
  idempotency_key: 'no two downloads that are not voided have the same idempotency key',
  job_queued: 'a job belongs to a download that was queued',
  job_order: 'a job does only what its state allows',
  job_claim: 'a job is claimed for the download that was queued, and finished by the claim that holds it',
  invoice_due: 'an invoice is for a first period or a closed one, once',
  invoice_number: 'invoices and credit notes of an account are numbered without a gap',
  invoice_lines: 'the lines of an invoice are the sums of the events of its period',
  invoice_missing: 'every amount due is invoiced within an hour',
  credit_note_amount: 'credit notes and waivers stay within the charge, the line and the invoice',
  credit_note_line: 'a credit note names a line of an invoice, and charges of that line',
  staff_events:
    'a member of staff is invited or comes by a provider, is removed once, and does nothing afterwards; tokens are issued once and revoked once',
  staff_managed:
    'members of staff and their tokens are managed by admins and operators, and sign in and look in their own name',
  staff_role: 'a member of staff acts in the role that the log says, and not from 10 s after the removal on',
  correction_order: 'a correction is asked for, then approved or refused where it needs that, and ends once',
  correction_approval:
    'support, and anybody beyond the limit of 24 hours, needs the approval of another person of finance, also where somebody is staff under two ids',
  correction_sum: 'a correction or a credit note about charges names each once, and comes to their sum',
  correction_permitted:
    'money that staff give back follows from a permitted correction, names what it names and stays within it',
  correction_ended: 'a permitted correction ends within an hour, with what it has given back',
  document_mailed:
    'an invoice or credit note, and staff who ask for its mail again, name people of its account to mail; each is mailed once and nobody else is, and one is left out only when removed',
  acknowledgement: 'a divergence is acknowledged by staff with a reason',
  tree_head_size: 'the sizes of signed heads rise, and none is larger than the tree',
  tree_head_root: 'a signed head has the root and the subtrees that follow from the log',
  tree_head_note: 'the note of a signed head says its origin, size and root, and is signed by its key',
  tree_origin: 'the service signs heads under one origin, until staff begin another with a reason',
  table_missing: 'every compared table exists, with its columns',
  row_missing: 'Postgres has every row that follows from the log',
  row_differs: 'the rows of Postgres have the values that follow from the log',
  row_surplus: 'Postgres has no row that does not follow from the log',
} as const;

export type Rule = keyof typeof rules;
