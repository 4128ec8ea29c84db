/** Every expected "no" of the rules. The texts that clients see stand in `http/errors.ts`. */
export const refusals = [
  'account_not_found',
  'key_not_found',
  'too_many_keys',
  'download_quota_exceeded',
  'overage_cap_reached',
  'metadata_quota_exceeded',
  'job_not_claimable',
  'claim_lost',
] as const;

export type Refusal = (typeof refusals)[number];

export interface Refused {
  refusal: Refusal;
}

export const refuse = (refusal: Refusal): Refused => ({ refusal });

export const isRefused = (answer: object): answer is Refused => 'refusal' in answer;
