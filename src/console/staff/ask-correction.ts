import { z } from 'zod';
import { corrections as correctionsModel } from '../../../projections/corrections.ts';
import { catchUp } from '../../../projections/runner/wait-for-checkpoint.ts';
import { carryOutCorrection } from '../../commands/carry-out-correction.ts';
import { askCorrection, readCorrectionRequests } from '../../commands/correct.ts';
import { type Html, html } from '../../documents/html.ts';
import type { Correction } from '../../domain/correction-events.ts';
import type { CorrectionRequest } from '../../domain/correction-requests.ts';
import { isRefused, type Refusal } from '../../domain/refusals.ts';
import { caseReference } from '../../domain/usage-events.ts';
import { isServiceAway } from '../failures.ts';
import { formTokenField, readDollars } from '../form-fields.ts';
import { type Answer, badInput, notYetInForce, PageRefusal, redirect, type StaffVisit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import { maxReasonCharacters, orderOf } from './staff-request.ts';

/** What every form asks that gives money back, and what becomes of it. */

/** @param id draws the correction: the same form, sent twice, asks once */
export const correctionFields = (visit: StaffVisit, { id, cents }: { id: string; cents: number }): Html =>
  html`${formTokenField(visit.session)} <input type="hidden" name="correction_id" value="${id}" />
    <label
      >Amount in US dollars
      <input name="amount" inputmode="decimal" value="${(cents / 100).toFixed(2)}" required maxlength="14"
    /></label>
    ${whyFields()}`;

export const whyFields = ({ reference = '', reason = '' } = {}): Html =>
  html`<label
      >Reference
      <input name="reference" value="${reference}" required maxlength="100" pattern="[!-~]+" autocomplete="off" />
      <span class="hint">The case or ticket, in one word. It gives a charge back only once.</span></label
    >
    <label
      >Reason
      <textarea name="reason" required maxlength="${maxReasonCharacters}" rows="3">${reason}</textarea>
      <span class="hint">The customer reads it on the invoice or credit note.</span></label
    >`;

export interface AskedFields {
  correctionId: string;
  cents: number;
  reference: string;
}

/** @throws {PageRefusal} naming the field at fault */
export function readCorrectionFields({ form }: StaffVisit): AskedFields {
  const correctionId = z.uuid().safeParse(form.get('correction_id'));
  if (!correctionId.success) throw badInput('The form is not complete. Go back, reload the page and send it again.');
  const cents = readDollars(form.get('amount') ?? '');
  if (!cents) throw badInput('The amount must be in dollars and cents, such as 0.25, and more than nothing.');
  return { correctionId: correctionId.data, cents, reference: readReference(form) };
}

export function readReference(form: URLSearchParams): string {
  const reference = caseReference.safeParse((form.get('reference') ?? '').trim());
  if (reference.success) return reference.data;
  throw badInput('The reference must be one word of at most 100 letters, digits and signs, such as CASE-1234.');
}

interface Asked {
  accountId: string;
  fields: AskedFields;
  /** Undefined: nothing can be given back any more. */
  correction: Correction | undefined;
}

/** Asks, gives back at once what needs nobody else, and leads to the page that says which. */
export async function askInConsole(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  { accountId, fields, correction }: Asked,
): Promise<Answer> {
  const { staff, approvalCents: limitCents } = dependencies;
  const { correctionId } = fields;
  const order = orderOf(visit);
  const known = await findOwn(visit, dependencies, { accountId, correctionId });
  if (!known) {
    if (!correction) throw badInput(refusalText('nothing_to_give_back'));
    const asked = await askCorrection(staff, { accountId, ...order, ...fields, correction, limitCents });
    if (isRefused(asked)) throw pageRefusalFor(asked.refusal);
  }
  await carryOut(dependencies, { accountId, correctionId });
  return await toCorrection(dependencies, correctionId);
}

/** The form was sent before: what it asks may be given back already. */
async function findOwn(
  { session }: StaffVisit,
  { staff }: StaffDependencies,
  { accountId, correctionId }: { accountId: string; correctionId: string },
): Promise<CorrectionRequest | undefined> {
  const known = (await readCorrectionRequests(staff.store, accountId)).get(correctionId);
  return known?.askedBy.id === session.staffId ? known : undefined;
}

const carryOutMs = 10_000;

/**
 * Gives back what is permitted. One that waits for somebody stays as it is; so does one for which a part of the service is away,
 * because it is recorded: the dispatcher gives it back.
 */
export async function carryOut(
  { staff, serviceParts }: StaffDependencies,
  about: { accountId: string; correctionId: string },
): Promise<CorrectionRequest | undefined> {
  const ended = await carryOutCorrection(staff, { ...about, timeoutMs: carryOutMs }).catch((error: unknown) => {
    if (!isServiceAway(error)) throw error;
    serviceParts.of('what the staff console gives back').failed('a correction', error);
    return undefined;
  });
  if (!ended) return undefined;
  serviceParts.of('what the staff console gives back').works();
  if (!isRefused(ended)) return ended;
  if (ended.refusal === 'correction_not_permitted') return undefined;
  throw pageRefusalFor(ended.refusal);
}

const inForceMs = 5_000;

/** @throws {PageRefusal} while the read model is behind */
export async function toCorrection({ staff, pool }: StaffDependencies, correctionId: string): Promise<Answer> {
  const isThere = await catchUp({ store: staff.store, pool }, correctionsModel, inForceMs).catch(() => false);
  if (!isThere)
    throw notYetInForce(`It is recorded as correction ${correctionId}. The list of corrections shows it in a minute.`);
  return redirect(`/staff/corrections/${correctionId}`);
}

const refusalTexts: Partial<Record<Refusal, string>> = {
  staff_removed: 'You are not a member of staff any more.',
  staff_not_found: 'You are not a member of staff.',
  role_too_low: 'Your role does not allow this.',
  charge_not_found: 'The log has no such charge.',
  period_closed: 'The books of the period were closed meanwhile. Open the form again: it then credits the invoice.',
  nothing_to_give_back: 'Nothing is left to give back.',
  exceeds_charge: 'That is more than is left. Open the form again to see what is left now.',
  reference_reused:
    'This reference has given something back of it already. Nothing was changed; use another reference.',
  invoice_not_found: 'There is no such invoice or line.',
  correction_not_found: 'There is no such correction.',
  own_request:
    'Nobody approves what they have asked for themselves. Somebody else has to, and the identity provider must have named an e-mail address of both at a sign-in: without one, nobody knows that they are two.',
  correction_decided: 'Somebody has decided this correction already.',
};

export const refusalText = (refusal: Refusal): string => refusalTexts[refusal] ?? refusal;

export function pageRefusalFor(refusal: Refusal): PageRefusal {
  const message = refusalText(refusal);
  if (['role_too_low', 'own_request', 'staff_removed', 'staff_not_found'].includes(refusal))
    return new PageRefusal(403, 'Not for you', message);
  if (refusal === 'correction_decided') return new PageRefusal(409, 'Decided already', message);
  return badInput(message);
}
