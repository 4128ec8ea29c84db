import { z } from 'zod';
import type { AuditState } from '../../../projections/queries/audit-state.ts';
import type { Projection } from '../../../projections/runner/projection.ts';
import { countAcknowledged } from '../../commands/acknowledge-divergence.ts';
import { type Html, html } from '../../documents/html.ts';
import { showVerification, type Verdict, verdicts } from '../../documents/verdict.ts';
import { EventStoreUnavailable } from '../../ports/event-store.ts';
import { note } from '../parts.ts';
import type { StaffDependencies } from './dependencies.ts';

/** What the continuous verification says now, for each page that shows amounts. */

export const verification = z.strictObject({
  verdict: z
    .enum(verdicts)
    .describe(
      'None: nothing was verified. Partial: the first look has not come to the end of the log. Diverges: values do not follow from the log, and nobody has acknowledged it. Stopped: it has said nothing for a minute. Behind: it has not come to the end of the log for ten minutes. Verified: all of the log was.',
    ),
  text: z.string().describe('The same in sentences.'),
  events: z.int().describe('Events that were verified since the verification began.'),
  position: z.string().nullable().describe('Position in the log to which it has come since it began.'),
  unknown: z.int().describe('Divergences that nobody has acknowledged.'),
  known: z.int().describe('Divergences that somebody has acknowledged.'),
  caught_up_at: z.iso.datetime().nullable().describe('The newest time at which all of the log was verified, in UTC.'),
  caught_up_position: z.string().nullable().describe('Position in the log up to which it was verified then.'),
  written_at: z.iso.datetime().nullable().describe('When the verification last said something.'),
});
export type Verification = z.infer<typeof verification>;

type Dependencies = Pick<StaffDependencies, 'store' | 'now'>;

/** @param about reached: position of the newest event that the amounts beside it follow from */
export async function verificationOf(
  { store, now }: Dependencies,
  state: AuditState | undefined,
  { reached }: { reached?: bigint | undefined } = {},
): Promise<Verification> {
  // While the log is away, the state counts as it was written.
  const counts = state && (await unlessAway(countAcknowledged(store, state)));
  return showVerification(state && { ...state, ...counts }, { now: now(), shownUpTo: reached });
}

/** What the log answers; null while it is away, on pages that have something to show without it. */
export async function unlessAway<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof EventStoreUnavailable) return null;
    throw error;
  }
}

/** Whether the log has events for a read model that it does not have yet. @returns null while the log is away */
export async function isBehind(
  store: Dependencies['store'],
  { streamPrefixes }: Pick<Projection, 'streamPrefixes'>,
  reached: bigint | undefined,
): Promise<boolean | null> {
  const newest = await unlessAway(store.newestPositions([{ streamPrefixes, after: reached ?? 0n }]));
  return newest === null ? null : newest[0] !== undefined;
}

const kinds: Readonly<Record<Verdict['verdict'], 'good' | 'warn' | 'bad'>> = {
  none: 'warn',
  partial: 'warn',
  diverges: 'bad',
  stopped: 'warn',
  behind: 'warn',
  verified: 'good',
};

/** @param isElsewhere on pages that do not show the divergences themselves */
export const verdictNote = (
  { verdict, text }: Pick<Verification, 'verdict' | 'text'>,
  { isElsewhere = true } = {},
): Html => note(kinds[verdict], isElsewhere ? html`<a href="/staff/operation">Verification</a>: ${text}` : text);
