import { z } from 'zod';
import type { CorrectionRow } from '../../../../projections/corrections.ts';

/** What is asked back already of a charge, and waits for a second person: nobody should ask it back again unknowingly. */

export const waitingCorrection = z.strictObject({
  correction_id: z.string(),
  cents: z.int().describe('The most that it gives back of these charges.'),
  reference: z.string(),
});
export type WaitingCorrection = z.infer<typeof waitingCorrection>;

/** Those of some corrections that wait. @param tokens of the downloads whose charges are shown */
export const waitingOf = (corrections: readonly CorrectionRow[], tokens: readonly string[]): WaitingCorrection[] =>
  corrections.flatMap(({ correction_id, status, reference, correction }) => {
    if (status !== 'asked' || correction.kind !== 'charges') return [];
    const shown = correction.charges.filter(({ token }) => tokens.includes(token));
    return [{ correction_id, reference, cents: shown.reduce((sum, { cents }) => sum + cents, 0) }];
  });
