import { evolveUsage } from './evolve-usage.ts';
import { plusSeconds } from './instant.ts';
import { refuse, type Refused } from './refusals.ts';
import type { UsageEvent } from './usage-events.ts';
import { periodClosed } from './usage-periods.ts';
import { initialUsage, type Usage } from './usage-state.ts';

/** The closing of an ended billing period: once its grace is over, no amount of it changes any more. */
export interface Closing {
  usage: Usage;
  /** Time of UsagePeriodEnded, UTC ISO-8601; null before it. */
  endedAt: string | null;
}

export const initialClosing: Closing = { usage: initialUsage, endedAt: null };

export function evolveClosing({ usage, endedAt }: Closing, event: UsageEvent, { time }: { time: string }): Closing {
  return { usage: evolveUsage(usage, event), endedAt: event.type === 'UsagePeriodEnded' ? time : endedAt };
}

/**
 * @param graceSeconds how long after its end a period still takes corrections
 * @param now instant of the decision, UTC ISO-8601
 * @returns the event to append: none when the period is closed already
 */
export function decideClosing({ usage, endedAt }: Closing, graceSeconds: number, now: string): UsageEvent[] | Refused {
  if (usage.phase === 'closed') return [];
  // Stryker disable next-line ConditionalExpression,LogicalOperator: an ended period has the time of its end, and no other open one has
  if (usage.phase !== 'ended' || endedAt === null) return refuse('period_open');
  if (now < plusSeconds(endedAt, graceSeconds)) return refuse('grace_not_over');
  return [periodClosed(usage)];
}
