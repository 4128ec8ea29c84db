import { formatCents } from '../domain/cents.ts';
import type { ReleaseReason } from '../domain/download-job-events.ts';
import { type FailureReason, failureReasons } from '../domain/failure-reasons.ts';
import type { CreditNoteIssued } from '../domain/invoice-events.ts';
import type { Actor, DomainEvent } from '../domain/parse-event.ts';

/** Describes the events of a download in words, for customer support and for the account's owner. */

/** An event of a download. */
export interface StoryEvent {
  time: string;
  type: DomainEvent['type'];
  event_id: string;
  actor: Actor;
  /** Cents of a charge: 0 for a credit; null for an event that charges nothing. */
  cents: number | null;
  data: object;
}

/** A credit note of the account. */
export interface StoryCreditNote {
  data: Pick<CreditNoteIssued, 'charges' | 'number' | 'invoice_number' | 'reference'>;
  issuedAt: string;
  actor: Actor;
}

type DataOf<Type extends DomainEvent['type']> = Extract<DomainEvent, { type: Type }>['data'];
type Words = { [Type in DomainEvent['type']]?: (data: DataOf<Type>, row: Pick<StoryEvent, 'actor'>) => string };

const releases: Readonly<Record<Exclude<ReleaseReason, FailureReason>, string>> = {
  shutdown: 'Its worker was shut down.',
  lease_expired: 'Its worker was lost.',
};

/** @param reason of a failure, or of a release */
export const reasonText = (reason: ReleaseReason): string =>
  reason in releases ? releases[reason as keyof typeof releases] : failureReasons[reason as FailureReason].message;

const words: Words = {
  DownloadCreditDebited: ({ ordinal }) => `a credit of the plan, as download ${String(ordinal)} of the period`,
  OverageCharged: ({ cents, ordinal }) =>
    `${formatCents(cents)} beyond the plan, as download ${String(ordinal)} of the period`,
  DownloadQueued: ({ platform, video_id: id, format, quality }) => `${format} in ${quality} of ${platform} ${id}`,
  DownloadConfirmed: () => 'the client was told of it: it can no longer be voided',
  DownloadVoided: ({ cents }) =>
    `${cents > 0 ? formatCents(cents) : 'a credit'}: the client was told that nothing was queued`,
  ChargeWaived: ({ cents, reference }, { actor }) => `${formatCents(cents)} under ${reference}${byWhom(actor)}`,
  DownloadCreditReturned: () => 'a credit: the service was at fault',
  JobClaimed: ({ attempt, worker_id: worker }) => `attempt ${String(attempt)}, by ${worker}`,
  JobReleased: ({ reason, not_before: notBefore }) =>
    `${reasonText(reason)} It may be tried again from ${notBefore.slice(0, 19).replace('T', ' ')} UTC on.`,
  JobCompleted: ({ file_mime: mime, file_size_bytes: sizeBytes, title }) =>
    `${mime}, ${String(sizeBytes)} bytes${ofTitle(title)}`,
  JobFailed: ({ reason, fault, title }) =>
    `${reasonText(reason)}${fault === 'service' ? ' The service was at fault.' : ''}${ofTitle(title)}`,
  FileExpired: () => 'no more links to the file are made',
};

const ofTitle = (title: string | undefined) => (title === undefined ? '' : ` (“${title}”)`);

/** Goes on after the event's title, or stands beside its type; empty for an event that says all by its name. */
export function describeEvent({ type, data, actor }: Pick<StoryEvent, 'type' | 'data' | 'actor'>): string {
  const describe = words[type] as ((data: object, row: Pick<StoryEvent, 'actor'>) => string) | undefined;
  return describe?.(data, { actor }) ?? '';
}

function byWhom(actor: Actor): string {
  return actor.type === 'staff' ? ` by ${actor.id}: ${actor.reason}` : '';
}

const titles: Partial<Record<DomainEvent['type'], string>> = {
  DownloadCreditDebited: 'Charged',
  OverageCharged: 'Charged',
  DownloadQueued: 'Queued:',
  DownloadConfirmed: 'Confirmed:',
  DownloadVoided: 'Voided',
  ChargeWaived: 'Waived',
  DownloadCreditReturned: 'Returned',
  JobClaimed: 'Taken by a worker:',
  JobStarted: 'Started',
  JobReleased: 'Released:',
  JobCompleted: 'Finished:',
  JobFailed: 'Failed:',
  FileExpired: 'Expired:',
};

/** What happened, in front of its description. */
export const eventTitle = (type: DomainEvent['type']): string => titles[type] ?? type;

/** Title and description; the description alone for an event without a title. */
export function eventSentence(event: Pick<StoryEvent, 'type' | 'data' | 'actor'>): string {
  return `${titles[event.type] ?? ''} ${describeEvent(event)}`.trim();
}

/** Cents given back, 0 for a credit; and what happened. */
export type ChargeChange = ReturnType<typeof chargeChanges>[number];

const changesOfCharges: readonly DomainEvent['type'][] = ['DownloadVoided', 'ChargeWaived', 'DownloadCreditReturned'];

/** What was given back of a download's charge: in its billing period, and by credit notes after the close. */
export function chargeChanges(rows: readonly StoryEvent[], notes: readonly StoryCreditNote[]) {
  const inPeriod = rows
    .filter(({ type }) => changesOfCharges.includes(type))
    .map((row) => ({ time: row.time, cents: -(row.cents ?? 0), text: eventSentence(row) }));
  const charged = rows.filter(({ cents }) => (cents ?? 0) > 0).map((row) => row.event_id);
  const credited = notes.flatMap(({ data: { charges, number, invoice_number: invoice, reference }, issuedAt, actor }) =>
    charges
      .filter(({ charge_event_id: id }) => charged.includes(id))
      .map(({ cents }) => ({
        time: issuedAt,
        cents,
        text:
          `Credited ${formatCents(cents)} by credit note ${String(number)} of invoice ${String(invoice)} ` +
          `under ${reference}${byWhom(actor)}`,
      })),
  );
  return [...inPeriod, ...credited];
}
