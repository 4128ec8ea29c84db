import { ItemsMissing } from '../../projections/queries/line-items.ts';
import { NotStored, OutcomeUnknown } from '../commands/handler/handle-command.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { EventStoreUnavailable, ReaderRefused } from '../ports/event-store.ts';
import { isPostgresAway } from '../ports/service-parts.ts';
import { NotOnStandby } from '../ports/standby.ts';
import { away, outcomeUnknown, PageRefusal } from './visit.ts';

/** @returns what visitors are told of an error, and whether a part of the service is away; undefined for a mistake of ours */
export function pageRefusalOfError(error: unknown): { refusal: PageRefusal; isServiceAway: boolean } | undefined {
  if (error instanceof PageRefusal) return { refusal: error, isServiceAway: false };
  if (error instanceof OutcomeUnknown || error instanceof NotOnStandby)
    return { refusal: outcomeUnknown(), isServiceAway: true };
  const isAway = [ClockIsWrong, NotStored, EventStoreUnavailable, ReaderRefused, ItemsMissing].some(
    (kind) => error instanceof kind,
  );
  return isAway || isPostgresAway(error) ? { refusal: away(), isServiceAway: true } : undefined;
}

/** Tells whether a part of the service is away, or has not answered in time. */
export const isServiceAway = (error: unknown): boolean => pageRefusalOfError(error)?.isServiceAway === true;
