import { parseUsageEvent } from '../domain/recorded-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { UsageEventOf } from '../domain/usage-events.ts';
import { evolveUsage, initialUsage } from '../domain/usage.ts';
import type { OpenUsage, Usage } from '../domain/usage.ts';
import type { EventStore } from './ports.ts';
import { settlePeriod } from './settle-period.ts';

/** A warning as the log has it. */
export interface LoggedWarning {
  eventId: string;
  stream: string;
  revision: number;
  /** Pool, percent, used and limit. */
  data: UsageEventOf<'UsageWarningReached'>['data'];
  /** The period as it stood when the warning was reached. */
  usage: OpenUsage;
  time: string;
  correlationId: string;
  /** Whether the log says that it is mailed. */
  mailed: boolean;
}

/**
 * Reads the whole stream of the period, so that what a mail says follows from the log alone, and is the same each time.
 *
 * @returns undefined where the stream holds no such warning
 * @throws {EventStoreUnavailable}
 */
export async function readWarning(
  store: EventStore,
  { stream, eventId }: { stream: string; eventId: string },
): Promise<LoggedWarning | undefined> {
  let usage: Usage = initialUsage;
  let warning: LoggedWarning | undefined;
  for (const recorded of await store.read(stream, 0)) {
    const { event, id, metadata, revision } = parseUsageEvent(recorded);
    if (!warning) usage = evolveUsage(usage, event);
    if (event.type === 'UsageWarningReached' && id === eventId && usage.phase !== 'absent') {
      const { time, $correlationId: correlationId } = metadata;
      warning = { eventId, stream, revision, data: event.data, usage, time, correlationId, mailed: false };
    }
    if (warning && event.type === 'UsageWarningMailed' && event.data.warning_event_id === eventId)
      warning.mailed = true;
  }
  return warning;
}

/**
 * Records, once, that a mail server has taken a warning.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export async function recordWarningMail(
  dependencies: { store: EventStore; now: () => string; newUuid: () => string },
  { eventId, stream, revision, correlationId }: LoggedWarning,
  { messageId, timeoutMs }: { messageId: string; timeoutMs: number },
): Promise<void> {
  const recorded = await settlePeriod(dependencies, {
    stream,
    command: { kind: 'record_mail', eventIds: [eventId], messageId },
    fromRevision: revision,
    cause: {
      commandId: dependencies.newUuid(),
      correlationId,
      causationId: eventId,
      actor: { type: 'system', id: 'warning-mails' },
    },
    timeoutMs,
  });
  if (isRefused(recorded)) throw new Error(`the mail of warning ${eventId} was refused: ${recorded.refusal}`);
}
