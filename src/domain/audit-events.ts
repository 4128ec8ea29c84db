import { z } from 'zod';
import { accountId } from './account-events.ts';
import { correctionReference } from './usage-events.ts';

/** Stream `audit-acknowledgements`: what the audit found, and somebody has examined. */
export const acknowledgementsStream = 'audit-acknowledgements';

export const auditEventSchemas = {
  /**
   * A divergence as `ledger verify` names it, all its facts together: with another value it is a new one. Who examined it,
   * and why it may stand, is in the metadata.
   */
  DivergenceAcknowledged: z.strictObject({
    rule: z.string().min(1),
    account_id: accountId.nullable(),
    stream: z.string().min(1),
    /** -1: of a row that stands for no event of its stream yet. */
    revision: z.int().min(-1),
    field: z.string().min(1),
    expected: z.json(),
    found: z.json(),
    reference: correctionReference,
  }),
};

export type AuditEvent = {
  [Type in keyof typeof auditEventSchemas]: { type: Type; data: z.infer<(typeof auditEventSchemas)[Type]> };
}[keyof typeof auditEventSchemas];

export type DivergenceAcknowledged = AuditEvent['data'];
