import { z } from 'zod';
import { accountId } from './account-events.ts';
import type { EventOf } from './event-of.ts';
import { caseReference } from './usage-events.ts';

/** Stream `audit-acknowledgements`: divergences that the audit found and a person has examined. */
export const acknowledgementsStream = 'audit-acknowledgements';

export const auditEventSchemas = {
  /**
   * A divergence with all the facts that `ledger verify` prints: a different fact makes it a new divergence. The metadata says
   * who examined it and why it may stay.
   */
  DivergenceAcknowledged: z.strictObject({
    rule: z.string().min(1),
    account_id: accountId.nullable(),
    stream: z.string().min(1),
    /** -1 for a row that stands for no event of its stream yet. */
    revision: z.int().min(-1),
    field: z.string().min(1),
    expected: z.json(),
    found: z.json(),
    reference: caseReference,
  }),
};

export type AuditEvent = EventOf<typeof auditEventSchemas>;

export type DivergenceAcknowledged = AuditEvent['data'];
