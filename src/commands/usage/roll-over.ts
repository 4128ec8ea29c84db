import type { UsageEvent } from '../../domain/usage-events.ts';
import { endPeriod, isLastEnded, openNextPeriod } from '../../domain/usage-periods.ts';
import type { UsageSnapshot } from '../../domain/usage-state.ts';
import type { Cause } from '../handler/event-metadata.ts';
import { type CausedEvent, timeOfAppend, type WriterCommand } from './decide-batch.ts';

/**
 * The step from one billing period to the next, before a request is decided:
 *
 *     open ──its time is over: UsagePeriodEnded──▶ ended ──UsagePeriodOpened, in the next stream──▶ open
 *
 * An account that was away for months takes several such steps. They are events of their own and never taken twice, whichever
 * process takes them; a crash between the two leaves the second one to the next request.
 *
 * After the last period of an account that is closed, nothing is due any more. A closing ends a period whose time is over itself:
 * otherwise another would begin only to owe its fee.
 *
 * @param command the first of those that may append @returns the event that is due; undefined in the current period
 */
export function rollOverDue(
  snapshot: UsageSnapshot,
  now: string,
  command?: Pick<WriterCommand, 'kind'>,
): { event: UsageEvent; opensNextPeriod: boolean } | undefined {
  const { usage } = snapshot;
  if (usage.phase === 'absent' || isLastEnded(usage)) return undefined;
  if (usage.phase !== 'open') return { event: openNextPeriod(usage), opensNextPeriod: true };
  // Decided by the time that the events will carry: no event of an open period has a time at or after its end.
  if (timeOfAppend(snapshot, now) < usage.period.end || command?.kind === 'close_account') return undefined;
  return { event: endPeriod(usage), opensNextPeriod: false };
}

/** @param request cause of the request that met the period's end @param commandId fresh UUID */
export function causedByCalendar(event: UsageEvent, request: Cause, commandId: string): CausedEvent {
  const { commandId: causationId, correlationId, traceparent } = request;
  const actor = { type: 'system', id: 'billing-period' } as const;
  return { event, cause: { commandId, correlationId, causationId, actor, traceparent } };
}
