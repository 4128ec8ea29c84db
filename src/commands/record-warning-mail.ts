import { parseUsageEvent } from '../domain/recorded-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { Notice } from '../domain/settlement.ts';
import { evolveUsage } from '../domain/usage.ts';
import { initialUsage } from '../domain/usage-state.ts';
import type { OpenUsage, Usage } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import { settlePeriod } from './settle-period.ts';

/** A warning, or a ceiling that was reached, as the log has it. */
export interface LoggedWarning {
  eventId: string;
  stream: string;
  /** Its content, such as pool, percent, used and limit. */
  notice: Notice;
  /** The period as it stood when it was reached. */
  usage: OpenUsage;
  time: string;
  correlationId: string;
  /**
   * The notices that its mail covers and that the log does not record as mailed: itself, and the lower thresholds of its pool
   * that were reached at the same time. Nothing where its mail is recorded.
   */
  covers: readonly { eventId: string; revision: number }[];
  /** Message-ID of a mail that covers it and is recorded already: that of a higher threshold. */
  messageId: string | null;
  /** A higher threshold was reached at the same time and is not mailed yet: its mail will cover this warning. */
  awaitsHigher: boolean;
}

interface Reached {
  eventId: string;
  revision: number;
  time: string;
  notice: Notice;
  messageId: string | null;
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
  let found: (Reached & { usage: OpenUsage; correlationId: string }) | undefined;
  const reached = new Map<string, Reached>();
  for (const recorded of await store.read(stream, 0)) {
    const { event, id, metadata, revision } = parseUsageEvent(recorded);
    if (!found) usage = evolveUsage(usage, event);
    if (event.type === 'UsageWarningReached' || event.type === 'OverageCapReached') {
      const { time, $correlationId: correlationId } = metadata;
      const one = { eventId: id, revision, time, notice: event, messageId: null };
      reached.set(id, one);
      if (id === eventId && usage.phase !== 'absent') found = { ...one, usage, correlationId };
    }
    if (event.type === 'UsageWarningMailed') noteMailed(reached, event.data.warning_event_id, event.data.message_id);
    if (event.type === 'OverageCapMailed') noteMailed(reached, event.data.cap_event_id, event.data.message_id);
  }
  if (!found) return undefined;
  const { notice, time, correlationId } = found;
  const together = [...reached.values()].filter((other) => isTogether(found, other));
  const isHigher = (other: Reached) => percentOf(other) > percentOf(found);
  const isMailed = reached.get(eventId)?.messageId !== null;
  return {
    ...{ eventId, stream, notice, usage: found.usage, time, correlationId },
    covers: isMailed ? [] : together.filter((other) => other.messageId === null && !isHigher(other)),
    messageId: together.find((other) => other.messageId !== null && isHigher(other))?.messageId ?? null,
    awaitsHigher: together.some((other) => other.messageId === null && isHigher(other)),
  };
}

function noteMailed(reached: Map<string, Reached>, eventId: string, messageId: string): void {
  const mailed = reached.get(eventId);
  if (mailed) reached.set(eventId, { ...mailed, messageId });
}

/** Thresholds of a pool with the same time were reached in one append, or in the same millisecond. */
function isTogether(one: Reached, other: Reached): boolean {
  if (one.eventId === other.eventId) return true;
  const [pool, otherPool] = [one, other].map(({ notice }) => ('pool' in notice.data ? notice.data.pool : undefined));
  return pool !== undefined && pool === otherPool && one.time === other.time;
}

const percentOf = ({ notice: { data } }: Reached): number => ('threshold_percent' in data ? data.threshold_percent : 0);

/**
 * Records, once, that a mail server has taken a mail, of everything that it covers.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export async function recordWarningMail(
  dependencies: { store: EventStore; now: () => string; newUuid: () => string },
  { eventId, stream, covers, correlationId }: LoggedWarning,
  { messageId, timeoutMs }: { messageId: string; timeoutMs: number },
): Promise<void> {
  const recorded = await settlePeriod(dependencies, {
    stream,
    command: { kind: 'record_mail', eventIds: covers.map((each) => each.eventId), messageId },
    fromRevision: Math.min(...covers.map(({ revision }) => revision)),
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
