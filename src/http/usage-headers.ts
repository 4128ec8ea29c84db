import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RateWindow } from '../../projections/admission/admission.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import type { UsageSnapshot } from '../domain/usage-state.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { mediaType } from './envelope.ts';

/** Contract §4.6: four headers on every response of the API. */
export interface UsageHeaders {
  window: RateWindow;
  /** Asked when the response is written: what others were told while it was made counts too. */
  creditsRemaining: () => number;
}

export const noCredits = (): number => 0;

/**
 * The credits of an account by the newest usage that this process has answered from, of which the row of the request is one.
 *
 * @param row undefined where the account has none that is believed
 */
export function creditsRemainingOf(
  accountId: string,
  row: UsageSnapshot | undefined,
  { writers: { newest }, now }: { writers: Pick<WriterRegistry, 'newest'>; now: () => string },
): UsageHeaders['creditsRemaining'] {
  if (row) newest.takeRow(accountId, row);
  return () => remainingOf(newest.get(accountId) ?? row, now) ?? 0;
}

/** Shows what this request itself has decided or reads out, whatever others are told. */
export function showCredits(request: FastifyRequest, remaining: number): void {
  if (request.usageHeaders) request.usageHeaders = { ...request.usageHeaders, creditsRemaining: () => remaining };
}

function remainingOf(snapshot: UsageSnapshot | undefined, now: () => string): number | undefined {
  if (!snapshot || snapshot.usage.phase === 'absent') return undefined;
  return summariseUsage(snapshot.usage, timeIfKnown(now) ?? snapshot.lastTime).downloads.remaining;
}

/** @returns undefined while the clock is wrong */
function timeIfKnown(now: () => string): string | undefined {
  try {
    return now();
  } catch (error) {
    if (!(error instanceof ClockIsWrong)) throw error;
    return undefined;
  }
}

/**
 * Written last, with the media type: Fastify has added a charset to it by then. It adds none to an answer of bytes, but Node sends
 * bytes apart from the head, which takes twice as long.
 */
export function writeUsageHeaders(reply: FastifyReply, headers: UsageHeaders): void {
  reply.headers({ ...usageHeaders(headers), 'content-type': mediaType });
}

export const usageHeaders = ({ window, creditsRemaining }: UsageHeaders) => ({
  'X-RateLimit-Limit': String(window.limit),
  'X-RateLimit-Remaining': String(window.remaining),
  'X-RateLimit-Reset': String(window.resetAtSeconds),
  'X-Credits-Remaining': String(creditsRemaining()),
});
