import type { StaffOrder } from '../../commands/staff.ts';
import { type Html, html } from '../../documents/html.ts';
import { plainText } from '../../domain/plain-text.ts';
import type { Typed } from '../form-fields.ts';
import { badInput, type StaffVisit } from '../visit.ts';

/** The form in which commands take a visit: the person of its session asks, for the reason that the form gives. */

const commandBudgetMs = 5_000;
const maxReasonCharacters = 500;
const reason = plainText(maxReasonCharacters).min(1);

/** @throws {PageRefusal} where the field `reason` is empty */
export function orderOf(visit: StaffVisit): StaffOrder & { by: { staffId: string; reason: string } } {
  const given = reason.safeParse((visit.form.get('reason') ?? '').trim());
  if (!given.success)
    throw badInput(
      `Every change needs a reason of at most ${String(maxReasonCharacters)} characters. Nothing was changed: give one and send it again.`,
    );
  const { session, request } = visit;
  return {
    by: { staffId: session.staffId, reason: given.data },
    correlationId: request.id,
    timeoutMs: commandBudgetMs,
  };
}

/** The field that `orderOf` reads. @param options hint: who reads the reason */
export const reasonField = (typed: Typed, { label = 'Reason', hint = '', rows = 2 } = {}): Html =>
  html`<label
    >${label}
    <textarea name="reason" required maxlength="${maxReasonCharacters}" rows="${rows}">
${typed('reason') ?? ''}</textarea>
    ${hint !== '' && html`<span class="hint">${hint}</span>`}</label
  >`;
