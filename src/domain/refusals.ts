/** Every expected refusal of the rules. The texts that clients see are in `http/errors.ts`. */
export const refusals = [
  'staff_not_found',
  'staff_removed',
  'role_too_low',
  'role_of_provider',
  'account_not_found',
  'account_closed',
  'account_not_closed',
  'account_erased',
  'periods_not_invoiced',
  'account_suspended',
  'key_not_found',
  'too_many_keys',
  'too_many_new_keys',
  'person_not_found',
  'last_person',
  'too_many_people',
  'too_many_invitations',
  'too_many_billing_changes',
  'idempotency_key_reused',
  'download_quota_exceeded',
  'overage_cap_reached',
  'metadata_quota_exceeded',
  'key_expired',
  'key_downloads_reached',
  'key_overage_reached',
  'too_many_key_limits',
  'too_many_plan_changes',
  'plan_not_in_force',
  'change_not_of_owner',
  'job_not_claimable',
  'claim_lost',
  'charge_not_found',
  'download_confirmed',
  'download_voided',
  'period_open',
  'period_closed',
  'grace_not_over',
  'nothing_to_give_back',
  'exceeds_charge',
  'reference_reused',
  'invoice_not_found',
  'mail_waits',
  'correction_not_found',
  'own_request',
  'correction_decided',
  'correction_not_permitted',
] as const;

export type Refusal = (typeof refusals)[number];

export interface Refused<Name extends Refusal = Refusal> {
  refusal: Name;
}

export const refuse = <const Name extends Refusal>(refusal: Name): Refused<Name> => ({ refusal });

export const isRefused = (answer: object): answer is Refused => 'refusal' in answer;
