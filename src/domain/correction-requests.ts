import type { Correction, CorrectionEvent, WantedCorrection } from './correction-events.ts';
import { aDayBefore } from './instant.ts';
import type { Actor } from './parse-event.ts';
import { refuse, type Refused } from './refusals.ts';
import { hasRole } from './staff.ts';
import type { StaffRole } from './staff-events.ts';

/**
 * What staff have asked to give back to one account, from the stream `corrections-{accountId}`:
 *
 *     asked ──CorrectionApproved──▶ permitted ──CorrectionMade────▶ made
 *       │                              └──────CorrectionFailed──▶ failed
 *       └─────CorrectionRefused───▶ refused
 *
 * A request that needs no approval is permitted from the start. Once permitted, it is carried out, because the money may be given
 * back at any moment in another stream.
 */
export type CorrectionRequests = Map<string, CorrectionRequest>;

export const correctionStatuses = ['asked', 'permitted', 'refused', 'made', 'failed'] as const;
export type CorrectionStatus = (typeof correctionStatuses)[number];

export interface CorrectionRequest {
  correctionId: string;
  accountId: string;
  reference: string;
  correction: Correction;
  /** The most that it gives back. */
  cents: number;
  askedBy: Asker;
  askedAt: string;
  needsApproval: boolean;
  status: CorrectionStatus;
  /** The event that permits it: the request itself, or the approval. */
  permittedBy: string | null;
  /** What it has given back. */
  madeCents: number | null;
  /** Why it gave nothing back. */
  why: string | null;
}

/** A member of staff with the role that the log says. */
export type StaffActor = Extract<Actor, { type: 'staff' }> & { role: StaffRole };

/** Who works at the command line, by a name of their own. Whoever can do that could change the log itself. */
export type Operator = Extract<Actor, { type: 'staff' }> & { role: 'operator' };

export type Asker = StaffActor | Operator;

/** `evolveCorrectionRequests` fills the map in place: each fold needs its own. */
export const newCorrectionRequests = (): CorrectionRequests => new Map();

interface At {
  id: string;
  time: string;
  actor: Actor;
}

export function evolveCorrectionRequests(
  requests: CorrectionRequests,
  event: CorrectionEvent,
  { id, time, actor }: At,
): CorrectionRequests {
  const change = (changed: Partial<CorrectionRequest>): CorrectionRequests => {
    const request = requests.get(event.data.correction_id);
    return request ? requests.set(request.correctionId, { ...request, ...changed }) : requests;
  };
  switch (event.type) {
    case 'CorrectionAsked': {
      const { correction_id: correctionId, account_id, reference, correction, cents, needs_approval } = event.data;
      return requests.set(correctionId, {
        correctionId,
        accountId: account_id,
        reference,
        correction,
        cents,
        askedBy: actor as Asker,
        askedAt: time,
        needsApproval: needs_approval,
        status: needs_approval ? 'asked' : 'permitted',
        permittedBy: needs_approval ? null : id,
        madeCents: null,
        why: null,
      });
    }
    case 'CorrectionApproved':
      return change({ status: 'permitted', permittedBy: id });
    case 'CorrectionRefused':
      return change({ status: 'refused' });
    case 'CorrectionMade':
      return change({ status: 'made', madeCents: event.data.cents });
    case 'CorrectionFailed':
      return change({ status: 'failed', why: event.data.why });
    // Stryker disable next-line ConditionalExpression: the compiler proves that no event comes here
    default:
      return event satisfies never;
  }
}

export interface AskCorrection {
  kind: 'ask';
  correctionId: string;
  accountId: string;
  reference: string;
  correction: Correction;
  cents: number;
  /** What one person may give back to one account within 24 hours without a second person. */
  limitCents: number;
  by: Asker;
  alsoKnownAs?: AlsoKnownAs;
}

/** Other ids of the person who acts: whoever is a member twice asks and approves as one. Default: none. */
type AlsoKnownAs = readonly string[];

export type CorrectionRequestCommand =
  | AskCorrection
  | { kind: 'approve'; correctionId: string; by: StaffActor; alsoKnownAs?: AlsoKnownAs }
  | { kind: 'refuse'; correctionId: string; by: StaffActor }
  | { kind: 'made'; correctionId: string; cents: number }
  | { kind: 'failed'; correctionId: string; why: string };

/**
 * @param now instant of the decision, UTC ISO-8601
 * @returns the events to append: none when the command has been carried out already
 */
export function decideCorrectionRequest(
  requests: CorrectionRequests,
  command: CorrectionRequestCommand,
  now: string,
): CorrectionEvent[] | Refused {
  if (command.kind === 'ask') return ask(requests, command, now);
  const request = requests.get(command.correctionId);
  if (!request) return refuse('correction_not_found');
  switch (command.kind) {
    case 'approve':
      return approve(request, command);
    case 'refuse':
      return refuseRequest(request, command.by);
    case 'made':
      return end(request, {
        type: 'CorrectionMade',
        data: { correction_id: request.correctionId, cents: command.cents },
      });
    case 'failed':
      return end(request, {
        type: 'CorrectionFailed',
        data: { correction_id: request.correctionId, why: command.why },
      });
  }
}

function ask(requests: CorrectionRequests, command: AskCorrection, now: string): CorrectionEvent[] | Refused {
  const known = requests.get(command.correctionId);
  if (known) return isSameRequest(known, command) ? [] : refuse('reference_reused');
  const { correctionId, accountId, reference, correction, cents, limitCents } = command;
  const standing = [...requests.values()].filter(({ status }) => status !== 'refused' && status !== 'failed');
  if (standing.some((other) => other.reference === reference && overlaps(other.correction, correction)))
    return refuse('reference_reused');
  return [
    {
      type: 'CorrectionAsked',
      data: {
        correction_id: correctionId,
        account_id: accountId,
        reference,
        correction,
        cents,
        limit_cents: limitCents,
        needs_approval: needsApproval(command, standing, now),
      },
    },
  ];
}

/** Above the limit, and for a role that only asks. Nobody approves what an operator asks. */
function needsApproval(command: AskCorrection, standing: readonly CorrectionRequest[], now: string): boolean {
  const { by, cents, limitCents } = command;
  if (by.role === 'operator') return false;
  return !hasRole(by.role, 'finance') || cents + centsOfADay(standing, idsOf(command), now) > limitCents;
}

// Stryker disable next-line ArrayDeclaration: no id of a person is the text of a mutant
const idsOf = ({ by, alsoKnownAs = [] }: { by: Asker; alsoKnownAs?: AlsoKnownAs }): ReadonlySet<string> =>
  new Set([by.id, ...alsoKnownAs]);

/** What a person has asked to give back within 24 hours, whoever approved it. @param standing neither refused nor failed */
function centsOfADay(standing: readonly CorrectionRequest[], ids: ReadonlySet<string>, now: string): number {
  const aDayAgo = aDayBefore(now);
  return standing
    .filter(({ askedBy, askedAt }) => ids.has(askedBy.id) && askedAt > aDayAgo)
    .reduce((sum, { cents }) => sum + cents, 0);
}

/**
 * The same form, sent twice, or the same command. The amounts are not compared: when the first has given back the rest of the
 * charge, the second finds none.
 */
export const isSameRequest = (
  known: CorrectionRequest,
  asked: { by: Asker; reference: string; correction: WantedCorrection },
): boolean =>
  isSameAsker(known.askedBy, asked.by) &&
  known.reference === asked.reference &&
  known.correction.kind === asked.correction.kind &&
  overlaps(known.correction, asked.correction);

/** One operator may go on with the command of another. */
const isSameAsker = (one: Asker, other: Asker): boolean =>
  one.role === 'operator' ? other.role === 'operator' : one.id === other.id;

/** Two corrections under one reference may not touch the same charge, nor both credit a line. */
function overlaps(one: Correction, other: WantedCorrection): boolean {
  // Stryker disable next-line ConditionalExpression,LogicalOperator,StringLiteral: a line has no stream, so that it also differs there
  if (one.kind === 'credit_line' || other.kind === 'credit_line') return one.kind === other.kind;
  if (one.stream !== other.stream) return false;
  const tokens = new Set(one.charges.map(({ token }) => token));
  return other.charges.some(({ token }) => tokens.has(token));
}

function approve(
  request: CorrectionRequest,
  command: Extract<CorrectionRequestCommand, { kind: 'approve' }>,
): CorrectionEvent[] | Refused {
  if (!hasRole(command.by.role, 'finance')) return refuse('role_too_low');
  if (idsOf(command).has(request.askedBy.id)) return refuse('own_request');
  if (request.permittedBy !== null) return [];
  if (request.status !== 'asked') return refuse('correction_decided');
  return [{ type: 'CorrectionApproved', data: { correction_id: request.correctionId } }];
}

/** By finance, or by the person who asked and takes it back. */
function refuseRequest(request: CorrectionRequest, by: StaffActor): CorrectionEvent[] | Refused {
  if (!hasRole(by.role, 'finance') && by.id !== request.askedBy.id) return refuse('role_too_low');
  if (request.status === 'refused') return [];
  if (request.status !== 'asked') return refuse('correction_decided');
  return [{ type: 'CorrectionRefused', data: { correction_id: request.correctionId } }];
}

function end(request: CorrectionRequest, event: CorrectionEvent): CorrectionEvent[] | Refused {
  if (request.status === 'made' || request.status === 'failed') return [];
  return request.status === 'permitted' ? [event] : refuse('correction_not_permitted');
}
