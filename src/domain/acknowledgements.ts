import type { AuditEvent, DivergenceAcknowledged } from './audit-events.ts';

export type DivergenceFacts = Omit<DivergenceAcknowledged, 'reference'>;

/** The divergences that were acknowledged, by all of their facts. */
export type Acknowledgements = ReadonlySet<string>;

export const initialAcknowledgements: Acknowledgements = new Set();

/** The same facts have the same name, whoever examined them. */
export const nameOf = ({ rule, account_id, stream, revision, field, expected, found }: DivergenceFacts): string =>
  JSON.stringify([rule, account_id, stream, revision, field, expected, found]);

export function evolveAcknowledgements(state: Acknowledgements, event: AuditEvent): Acknowledgements {
  return new Set([...state, nameOf(event.data)]);
}

/** @returns the events to append: none when the divergence has been acknowledged already */
export function decideAcknowledgement(state: Acknowledgements, divergence: DivergenceAcknowledged): AuditEvent[] {
  return state.has(nameOf(divergence)) ? [] : [{ type: 'DivergenceAcknowledged', data: divergence }];
}
