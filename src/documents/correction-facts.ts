import type { Correction } from '../domain/correction-events.ts';
import type { Actor } from '../domain/parse-event.ts';

/** The facts of a correction, in the one form that programs read: at the command line and from the staff console. */

interface CorrectionRow {
  correction: Correction;
  asked_by: Actor;
  decided_by: Actor | null;
  position: string;
  revision: number;
}

/** @param row of the read model, whose place in the log is left out */
export function correctionFacts<Row extends CorrectionRow>({
  correction,
  asked_by: askedBy,
  decided_by: decidedBy,
  position: _position,
  revision: _revision,
  ...facts
}: Row) {
  const isCredit = correction.kind === 'credit_line';
  return {
    ...facts,
    charges: isCredit ? 0 : correction.charges.length,
    token: isCredit || correction.charges.length > 1 ? null : (correction.charges[0]?.token ?? null),
    stream: isCredit ? null : correction.stream,
    invoice_number: isCredit ? correction.invoice_number : null,
    line: isCredit ? correction.line : null,
    asked_by: actorFacts(askedBy),
    decided_by: decidedBy && actorFacts(decidedBy),
  };
}

/** @returns for an actor that has no role, its type; without a reason, an empty text */
export function actorFacts(actor: Actor) {
  const { type, id } = actor;
  return { type, id, role: 'role' in actor ? actor.role : type, reason: 'reason' in actor ? actor.reason : '' };
}
