import { z } from 'zod';
import { corrections as correctionsModel } from '../../../projections/corrections.ts';
import { carryOutCorrection } from '../../commands/carry-out-correction.ts';
import { askCorrection, readCorrectionRequests } from '../../commands/correct.ts';
import { type Html, html } from '../../documents/html.ts';
import type { WantedCorrection } from '../../domain/correction-events.ts';
import type { CorrectionRequest } from '../../domain/correction-requests.ts';
import { isRefused, type Refusal } from '../../domain/refusals.ts';
import { caseReference } from '../../domain/usage-events.ts';
import { isServiceAway } from '../failures.ts';
import { postForm, readDollars, type Typed } from '../form-fields.ts';
import { untilInForce } from '../in-force.ts';
import { money } from '../parts.ts';
import { type Answer, badInput, PageRefusal, redirect, type StaffVisit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import { orderOf, reasonField } from './staff-request.ts';

/** What every form asks that gives money back, and what becomes of it. */

interface CorrectionForm {
  action: string;
  /** What may be given back at most. */
  cents: number;
  /** What the button says, such as `give it back`. */
  deed: string;
  /** Fields that say what it is about, where the address does not: of several things, all that is left is given back. */
  about?: Html | undefined;
}

/** A form about money, and who has to agree. Its id draws the correction: the same form, sent twice, asks once. */
export const correctionForm = (
  visit: StaffVisit,
  { newUuid, approvalCents }: StaffDependencies,
  { action, cents, deed, about }: CorrectionForm,
): Html => {
  const amount = (cents / 100).toFixed(2);
  return html`${postForm(
      visit,
      action,
      (typed) =>
        html`<input type="hidden" name="correction_id" value="${typed('correction_id') ?? newUuid()}" />
          ${
            about
              ? html`${about}<input type="hidden" name="amount" value="${amount}" />`
              : html`<label
                  >Amount in US dollars
                  <input name="amount" inputmode="decimal" value="${typed('amount') ?? amount}" required maxlength="14"
                /></label>`
          }
          ${whyFields(typed)}
          <button>${deedOf(visit, deed)}</button>`,
    )}
    <p class="soft">${whoDecides(visit, approvalCents)}</p>`;
};

/** Support asks, and others do it. */
export const deedOf = ({ session }: StaffVisit, deed: string): string =>
  session.role === 'support' ? `Ask to ${deed}` : deed.charAt(0).toUpperCase() + deed.slice(1);

/** Who has to agree. */
export const whoDecides = ({ session }: StaffVisit, limitCents: number): string =>
  session.role === 'support'
    ? 'Somebody of finance approves it before anything is given back.'
    : `Above ${money(limitCents)} that you give back to one account within 24 hours, somebody else of finance approves it first.`;

export const whyFields = (typed: Typed): Html =>
  html`${referenceField(typed, 'The case or ticket, in one word. It gives a charge back only once.')}
  ${reasonField(typed, { rows: 3, hint: 'The customer reads it on the invoice or credit note.' })}`;

/** The field that `readReference` reads. */
export const referenceField = (typed: Typed, hint?: string): Html =>
  html`<label
    >Reference
    <input
      name="reference"
      value="${typed('reference') ?? ''}"
      required
      maxlength="100"
      pattern="[!-~]+"
      title="one word such as CASE-1234"
      autocomplete="off"
    />
    ${hint !== undefined && html`<span class="hint">${hint}</span>`}</label
  >`;

/** @throws {PageRefusal} naming the field at fault */
function readCorrectionFields({ form }: StaffVisit) {
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

/**
 * The action of such a form: asks, gives back at once what needs nobody else, and leads to the page that says which.
 *
 * @param correctionOf the correction by the amount that the form says; it may throw what pages throw
 */
export async function askAndShow(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  { accountId, correctionOf }: { accountId: string; correctionOf: (cents: number) => WantedCorrection },
): Promise<Answer> {
  const { correctionId, cents, reference } = readCorrectionFields(visit);
  const order = orderOf(visit);
  const about = { accountId, correctionId };
  const earlier = (await readCorrectionRequests(dependencies.store, accountId)).get(correctionId);
  // The form may have been sent before: what it asks may be given back already.
  if (earlier?.askedBy.id !== visit.session.staffId) {
    const { approvalCents: limitCents } = dependencies;
    const correction = correctionOf(cents);
    const asked = await askCorrection(dependencies, { ...about, ...order, reference, correction, limitCents });
    if (isRefused(asked)) throw pageRefusalFor(asked.refusal);
  }
  await carryOut(dependencies, about);
  return await toCorrection(dependencies, correctionId);
}

const carryOutMs = 10_000;

/**
 * Gives back what is permitted. One that waits for somebody stays as it is; so does one for which a part of the service is away,
 * because it is recorded: the dispatcher gives it back.
 */
export async function carryOut(
  dependencies: StaffDependencies,
  about: { accountId: string; correctionId: string },
): Promise<CorrectionRequest | undefined> {
  const part = dependencies.serviceParts.of('what the staff console gives back');
  const ended = await carryOutCorrection(dependencies, { ...about, timeoutMs: carryOutMs }).catch((error: unknown) => {
    if (!isServiceAway(error)) throw error;
    part.failed('a correction', error);
    return undefined;
  });
  if (!ended) return undefined;
  part.works();
  if (!isRefused(ended)) return ended;
  if (ended.refusal === 'correction_not_permitted') return undefined;
  throw pageRefusalFor(ended.refusal);
}

/** @throws {PageRefusal} while the read model is behind */
export async function toCorrection(dependencies: StaffDependencies, correctionId: string): Promise<Answer> {
  const message = `It is recorded as correction ${correctionId}. The list of corrections shows it in a minute.`;
  await untilInForce(dependencies, correctionsModel, message);
  return redirect(`/staff/corrections/${correctionId}`);
}

const refusalTexts: Partial<Record<Refusal, string>> = {
  staff_removed: 'You are not a member of staff any more.',
  staff_not_found: 'You are not a member of staff.',
  role_too_low: 'Your role does not allow this.',
  charge_not_found: 'The log has no such charge.',
  nothing_to_give_back: 'Nothing is left to give back.',
  exceeds_charge: 'That is more than is left. Open the form again to see what is left now.',
  reference_reused:
    'This reference has given something back of it already. Nothing was changed; use another reference.',
  invoice_not_found:
    'There is no such invoice or line. If the books of the period were closed just now, its invoice comes within a minute.',
  person_not_found:
    'One of them is not one of the people of the account any more. Nobody is mailed; choose among those who are.',
  mail_waits:
    'A mail about it to one of them waits for the mail server already. Nobody is mailed again; this page shows when it was taken.',
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
