import { z } from 'zod';
import { readAuditState } from '../../../../projections/audit-state.ts';
import type { View } from '../view.ts';

const audit = z.strictObject({
  events: z.int().describe('Events that were verified since the verification began.'),
  position: z.string().nullable().describe('Position in the log up to which everything is verified.'),
  unknown: z.int().describe('Divergences that nobody has acknowledged.'),
  known: z.int().describe('Divergences that somebody has acknowledged.'),
  caught_up_at: z.iso.datetime().nullable().describe('The newest time at which all of the log was verified, in UTC.'),
});

const shown = z.strictObject({
  audit: audit.nullable().describe('What the continuous verification says; null before it has said anything.'),
});

export type Operation = z.infer<typeof shown>;

/** The service itself. */
export const operation: View<object, Operation> = {
  input: z.object({}),
  shown,
  read: async ({ pool }) => {
    const state = await readAuditState(pool);
    if (!state) return { audit: null };
    const { events, position, unknown, known, caughtUpAt } = state;
    return { audit: { events, position, unknown, known, caught_up_at: caughtUpAt } };
  },
};
