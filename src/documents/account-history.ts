import type { AccountEvent } from '../domain/account-events.ts';
import type { BillingDetails } from '../domain/billing-details.ts';
import { formatCents } from '../domain/cents.ts';
import type { CorrectionEvent } from '../domain/correction-events.ts';
import type { InvoiceEvent } from '../domain/invoice-events.ts';
import { limitParts } from '../domain/key-limits.ts';
import type { Effective, TermsEvent } from '../domain/usage-events.ts';

/** The names of plans and of an account's keys, people and documents, for texts. */
export interface AccountNames {
  key: (keyId: string) => string;
  person: (personId: string) => string;
  plan: (plan: string) => string;
  /** @param eventId of the event that has issued it */
  document: (eventId: string) => string;
}

/** Staff have asked for mails about a document again. */
export type MailsAskedEvent = Extract<InvoiceEvent, { type: 'DocumentMailAsked' }>;

const from = (effective: Effective): string => (effective === 'now' ? 'at once' : 'from the next billing period on');

/** In place of what cannot be read any more. */
const erased = '(erased)';

const detailsText = (details: BillingDetails | null): string =>
  details === null
    ? erased
    : [details.name ?? '', ...details.address_lines, details.country ?? '', details.tax_id ?? '']
        .filter((line) => line !== '')
        .join(', ');

/** One change of an account, as a person says it. */
export function changeText(
  { type, data }: AccountEvent | TermsEvent | CorrectionEvent | MailsAskedEvent,
  names: AccountNames,
): string {
  switch (type) {
    case 'AccountOpened':
      return `Account opened on the plan ${names.plan(data.terms.plan)}, for ${data.personal?.email ?? erased}`;
    case 'ApiKeyIssued':
      return `Key issued: ${names.key(data.key_id)}`;
    case 'ApiKeyRevoked':
      return `Key revoked: ${names.key(data.key_id)}`;
    case 'PersonInvited':
      return `Person invited: ${data.personal?.email ?? erased}`;
    case 'PersonRemoved':
      return `Person removed: ${names.person(data.person_id)}`;
    case 'PersonSignedIn':
      return `Signed in: ${names.person(data.person_id)}, with ${data.personal?.browser ?? erased}`;
    case 'BillingDetailsChanged':
      return `Billing details changed: ${detailsText(data.personal)}`;
    case 'ClosingRequested':
      return 'Closing of the account asked for';
    case 'AccountClosed':
      return 'Account closed: its keys are revoked, its people signed out';
    case 'AccountErased':
      return `Personal data of the account erased; ${data.documents_until === null ? 'nothing of it is kept' : `billing details are kept for documents until ${data.documents_until.slice(0, 10)}`}`;
    case 'PlanChanged':
      return `Plan and terms: ${names.plan(data.terms.plan)}, ${from(data.effective)}, ${formatCents(data.terms.fee_cents)} a month${data.fee_difference_cents > 0 ? `; ${formatCents(data.fee_difference_cents)} more for this period` : ''}`;
    case 'OverageCapSet':
      return `Overage cap set to ${formatCents(data.overage_cap_cents)}, ${from(data.effective)}`;
    case 'OverageCapRemoved':
      return `Overage cap removed, ${from(data.effective)}`;
    case 'OverageCapReached':
      return `Overage cap of ${formatCents(data.overage_cap_cents)} reached: downloads are refused with 402`;
    case 'KeyLimitSet':
      return `Limit of the key ${names.key(data.key_id)}: ${limitParts(data.limit).join(', ')}`;
    case 'KeyLimitRemoved':
      return `Limit of the key ${names.key(data.key_id)} removed`;
    case 'AccountSuspended':
      return 'Account suspended: its keys are refused, nothing is charged';
    case 'SuspensionLifted':
      return `Suspension lifted${data.fee_difference_cents > 0 ? `; the fee of ${formatCents(data.fee_difference_cents)} is due` : ''}`;
    case 'UsagePeriodEnded':
      return 'Last billing period ended';
    case 'DocumentMailAsked':
      return `Mail about ${names.document(data.document_event_id)} asked for again, to ${data.mail_to.map(names.person).join(', ')}`;
    case 'CorrectionAsked':
      return `${formatCents(data.cents)} to give back asked for under ${data.reference}`;
    case 'CorrectionApproved':
      return 'Correction approved';
    case 'CorrectionRefused':
      return 'Correction refused';
    case 'CorrectionMade':
      return `${formatCents(data.cents)} given back`;
    case 'CorrectionFailed':
      return 'Correction not carried out: what it was about has changed since';
  }
}
