import { ItemsMissing } from '../../projections/line-items.ts';
import { NotStored, OutcomeUnknown } from '../commands/handle-command.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { EventStoreUnavailable, ReaderRefused } from '../ports/event-store.ts';
import { isPostgresAway } from '../ports/outage.ts';
import { NotOnStandby } from '../ports/standby.ts';
import { away, outcomeUnknown, Refusal } from './visit.ts';

/** @returns what visitors are told of an error, and whether a part of the service is away; undefined for a mistake of ours */
export function refusalOf(error: unknown): { refusal: Refusal; isOutage: boolean } | undefined {
  if (error instanceof Refusal) return { refusal: error, isOutage: false };
  if (error instanceof OutcomeUnknown || error instanceof NotOnStandby)
    return { refusal: outcomeUnknown(), isOutage: true };
  const isAway = [ClockIsWrong, NotStored, EventStoreUnavailable, ReaderRefused, ItemsMissing].some(
    (kind) => error instanceof kind,
  );
  return isAway || isPostgresAway(error) ? { refusal: away(), isOutage: true } : undefined;
}

/** Tells whether a part of the service is away, or has not answered in time. */
export const isOutage = (error: unknown): boolean => refusalOf(error)?.isOutage === true;
