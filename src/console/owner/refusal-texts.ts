import type { TermsAnswer } from '../../commands/change-terms.ts';
import type { TermsRefusal } from '../../domain/decide-usage.ts';
import { maxKeyLimits } from '../../domain/key-limits.ts';
import { isRefused, type Refused } from '../../domain/refusals.ts';
import { count } from '../parts.ts';
import { away, badInput, outcomeUnknown, type PageRefusal } from '../visit.ts';

/** Texts for owners whose change is refused. */

/** For every command on the account. */
export const accountTexts = {
  account_not_found: 'This account is not there. Ask the support of this service.',
  account_closed: 'This account is closed, and cannot be changed. Ask the support of this service.',
  account_erased: 'The personal data of this account is erased, and nothing can be changed.',
};

const termsTexts: Record<TermsRefusal | 'key_not_found', string> = {
  account_closed: accountTexts.account_closed,
  account_suspended:
    'This account is suspended: its plan cannot be changed until that is lifted. Ask the support of this service why, and what lifts it.',
  too_many_plan_changes: 'The plan was changed too often in this billing period. Wait for the next one.',
  plan_not_in_force: 'The plan has changed meanwhile: choose one below.',
  change_not_of_owner:
    'The change that comes is agreed for your account. Ask whoever sends you the invoices to take it back.',
  too_many_key_limits: `${count(maxKeyLimits)} keys have a limit, the most that there may be. Remove that of another key first; revoked keys count as well.`,
  key_not_found: 'This key is revoked: its limit can only be removed.',
};

export const refusalOfTerms = (refusal: keyof typeof termsTexts): PageRefusal =>
  badInput(`${termsTexts[refusal]} Nothing was changed.`);

/** @throws {PageRefusal} for an answer that is no change of the terms */
export function requireChange(answer: TermsAnswer | Refused<'key_not_found'>): void {
  if (isRefused(answer)) throw refusalOfTerms(answer.refusal);
  if (answer.outcome === 'unknown') throw outcomeUnknown();
  if (answer.outcome !== 'accepted') throw away();
}
