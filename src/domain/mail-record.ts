import { refuse, type Refused } from './refusals.ts';
import type { UsageEvent, UsageEventOf } from './usage-events.ts';

/**
 * The notices to the owner in one billing period, and the mails that told them:
 *
 *     reached (UsageWarningReached, OverageCapReached) ──UsageWarningMailed, OverageCapMailed──▶ mailed
 *
 * The fold may begin in the middle of a long period, at the notice that a command is about.
 */
export interface MailRecord {
  /** By the id of the notice's event. */
  notices: Map<string, ReachedNotice>;
}

export type Notice = UsageEventOf<'UsageWarningReached' | 'OverageCapReached'>;

export interface ReachedNotice {
  eventId: string;
  revision: number;
  time: string;
  notice: Notice;
  /** Message-ID of the mail about it; null until that mail is recorded. */
  messageId: string | null;
}

/** `evolveMailRecord` fills the map in place: each fold needs its own. */
export const newMailRecord = (): MailRecord => ({ notices: new Map() });

export function evolveMailRecord(
  state: MailRecord,
  event: UsageEvent,
  { revision, id: eventId, time }: { revision: number; id: string; time: string },
): MailRecord {
  const { notices } = state;
  const noteMailed = (noticeId: string, messageId: string) => {
    const reached = notices.get(noticeId);
    if (reached) notices.set(noticeId, { ...reached, messageId });
  };
  switch (event.type) {
    case 'UsageWarningReached':
    case 'OverageCapReached':
      notices.set(eventId, { eventId, revision, time, notice: event, messageId: null });
      return state;
    case 'UsageWarningMailed':
      noteMailed(event.data.warning_event_id, event.data.message_id);
      return state;
    case 'OverageCapMailed':
      noteMailed(event.data.cap_event_id, event.data.message_id);
      return state;
    case 'UsagePeriodOpened':
    case 'PlanChanged':
    case 'OverageCapSet':
    case 'OverageCapRemoved':
    case 'KeyLimitSet':
    case 'KeyLimitRemoved':
    case 'AccountSuspended':
    case 'SuspensionLifted':
    case 'DownloadCreditDebited':
    case 'OverageCharged':
    case 'DownloadQueued':
    case 'DownloadConfirmed':
    case 'DownloadVoided':
    case 'MetadataCreditDebited':
    case 'MetadataCreditVoided':
    case 'ChargeWaived':
    case 'DownloadCreditReturned':
    case 'UsagePeriodEnded':
    case 'UsagePeriodClosed':
      return state;
    default:
      return event satisfies never;
  }
}

/**
 * Records that a mail server has taken a mail, which may be about several notices. A closed period takes the record too: it
 * changes no amount, and a mail server may be away for longer than the grace.
 *
 * @returns the events to append: none for notices that are recorded already
 */
export function decideMailRecord(
  { notices }: MailRecord,
  { eventIds, messageId }: { eventIds: readonly string[]; messageId: string },
): UsageEvent[] | Refused {
  const reached = eventIds.map((eventId) => notices.get(eventId));
  if (reached.includes(undefined)) return refuse('charge_not_found');
  return reached.flatMap((one) => (one?.messageId === null ? [noticeMailed(one, messageId)] : []));
}

function noticeMailed({ eventId, notice: { type, data } }: ReachedNotice, messageId: string): UsageEvent {
  if (type === 'OverageCapReached')
    return { type: 'OverageCapMailed', data: { cap_event_id: eventId, message_id: messageId } };
  const { used: _used, limit: _limit, ...warning } = data;
  return {
    type: 'UsageWarningMailed',
    data: { warning_event_id: eventId, ...warning, message_id: messageId },
  };
}

/**
 * One mail tells the highest threshold of a pool that was reached at a time, and covers the lower ones.
 *
 * @returns `covers`: the notices that the mail about this one records: itself and the lower thresholds, except those that are
 *   recorded already; none where its own mail is recorded. `messageId`: of a recorded mail about a higher threshold, which has
 *   covered this notice. `awaitsHigher`: the mail about a higher threshold is still to come, and will cover this notice
 */
export function mailCoverage(
  { notices }: MailRecord,
  about: ReachedNotice,
): { covers: readonly ReachedNotice[]; messageId: string | null; awaitsHigher: boolean } {
  const together = [...notices.values()].filter((other) => isTogether(about, other));
  const isHigher = (other: ReachedNotice) => percentOf(other) > percentOf(about);
  return {
    covers: about.messageId === null ? together.filter((one) => one.messageId === null && !isHigher(one)) : [],
    messageId: together.find((one) => one.messageId !== null && isHigher(one))?.messageId ?? null,
    awaitsHigher: together.some((one) => one.messageId === null && isHigher(one)),
  };
}

/** Thresholds of a pool, or of a key's limit, with the same time were reached in one append, or in the same millisecond. */
function isTogether(one: ReachedNotice, other: ReachedNotice): boolean {
  if (one.eventId === other.eventId) return true;
  const [pool, otherPool] = [one, other].map(poolOf);
  return pool !== undefined && pool === otherPool && one.time === other.time;
}

const poolOf = ({ notice: { data } }: ReachedNotice): string | undefined =>
  'pool' in data ? `${data.limited_key_id ?? ''}:${data.pool}` : undefined;

const percentOf = ({ notice: { data } }: ReachedNotice): number =>
  'threshold_percent' in data ? data.threshold_percent : 0;
