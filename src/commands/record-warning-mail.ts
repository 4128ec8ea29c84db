import { evolveUsage } from '../domain/evolve-usage.ts';
import {
  decideMailRecord,
  evolveMailRecord,
  mailCoverage,
  newMailRecord,
  type Notice,
  type ReachedNotice,
} from '../domain/mail-record.ts';
import { parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { initialUsage, type Usage, type UsagePeriod } from '../domain/usage-state.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { beforeRevision, handle } from './handler/handle-command.ts';

/** A warning, or an overage cap that was reached, as the log has it. */
export interface LoggedWarning {
  eventId: string;
  stream: string;
  /** Its content, such as pool, percent, used and limit. */
  notice: Notice;
  /** The period as it stood when the warning was reached. */
  usage: UsagePeriod;
  time: string;
  correlationId: string;
  /** The notices that its mail records (`mailCoverage`). */
  covers: readonly ReachedNotice[];
  /** Message-ID of a recorded mail that covers it. */
  messageId: string | null;
  /** A higher threshold was reached at the same time and is not mailed yet: its mail will cover this warning. */
  awaitsHigher: boolean;
}

/**
 * Reads the whole stream of the period, so that the content of a mail follows from the log alone and is the same each time.
 *
 * @returns undefined where the stream holds no such warning
 * @throws {EventStoreUnavailable}
 */
export async function readWarning(
  store: EventStore,
  { stream, eventId }: { stream: string; eventId: string },
): Promise<LoggedWarning | undefined> {
  const record = newMailRecord();
  let usage: Usage = initialUsage;
  let correlationId: string | undefined;
  for (const recorded of await store.read(stream, 0)) {
    const { event, id, metadata, revision } = parseUsageEvent(recorded);
    evolveMailRecord(record, event, { revision, id, time: metadata.time });
    if (correlationId === undefined) usage = evolveUsage(usage, event);
    if (id === eventId) correlationId = metadata.$correlationId;
  }
  const reached = record.notices.get(eventId);
  if (!reached || correlationId === undefined || usage.phase === 'absent') return undefined;
  const { notice, time } = reached;
  return { eventId, stream, notice, usage, time, correlationId, ...mailCoverage(record, reached) };
}

/**
 * Records, once, that a mail server has taken the mail about a warning and the notices that it covers.
 *
 * @throws {NotStored} @throws {OutcomeUnknown}
 */
export async function recordWarningMail(
  { store, now, newUuid }: CommandDependencies,
  { eventId, stream, covers, correlationId }: LoggedWarning,
  { messageId, timeoutMs }: { messageId: string; timeoutMs: number },
): Promise<void> {
  const eventIds = covers.map((notice) => notice.eventId);
  const firstRevision = Math.min(...covers.map(({ revision }) => revision));
  const recorded = await handle(
    store,
    {
      stream,
      initial: newMailRecord,
      parse: parseUsageEvent,
      evolve: evolveMailRecord,
      known: beforeRevision(firstRevision, newMailRecord()),
    },
    {
      decide: (state) => decideMailRecord(state, { eventIds, messageId }),
      cause: {
        commandId: newUuid(),
        correlationId,
        causationId: eventId,
        actor: { type: 'system', id: 'warning-mails' },
      },
      now,
      timeoutMs,
    },
  );
  if (isRefused(recorded)) throw new Error(`the mail of warning ${eventId} was refused: ${recorded.refusal}`);
}
