import { z } from 'zod';
import type { TimelineRow } from '../../../../projections/job-timeline.ts';
import type { DownloadRecord } from '../../../../projections/queries/download-record.ts';
import { describeEvent, eventTitle } from '../../../documents/job-story.ts';
import { formatCents } from '../../../domain/cents.ts';
import { evolveJob, initialJob, jobStatuses } from '../../../domain/download-job.ts';
import type { JobEvent } from '../../../domain/download-job-events.ts';
import { type Actor, type DomainEvent, type EventMetadata, eventMetadata } from '../../../domain/parse-event.ts';
import type { UsageEventOf } from '../../../domain/usage-events.ts';
import { money } from '../../parts.ts';

/** What happened to a download, step by step: its events, what staff asked for, and who has looked. */

export const stepKinds = ['request', 'money', 'work', 'file', 'staff'] as const;

export const stepSchema = z.strictObject({
  kind: z.enum(stepKinds).describe('`staff`: corrections that were asked for, and looks at the download.'),
  time: z.iso.datetime().describe('In UTC.'),
  gap_ms: z.int().describe('Milliseconds since the step before.'),
  title: z.string(),
  text: z.string().describe('What happened, in words.'),
  actor: eventMetadata.shape.actor,
  cents: z.int().nullable().describe('Charged, or given back if negative; null for a step without a charge.'),
  download_cents: z.int().nullable().describe('What the download costs after this step, if the step changes it.'),
  period_cents: z
    .int()
    .nullable()
    .describe('Overage of the whole billing period directly after the charge, or after what was given back of it.'),
  attempt: z.int().nullable().describe('The attempt that it belongs to: claims from 1, in order.'),
  status: z.enum(jobStatuses).nullable().describe('Status of the download after this step.'),
  event: z
    .strictObject({
      id: z.uuid(),
      type: z.string(),
      stream: z.string().nullable().describe('Null for an event whose place is in `GET /events/{id}` alone.'),
      revision: z.int().nullable(),
      position: z.string().nullable().describe('Commit position in the log.'),
      data: z.record(z.string(), z.unknown()).nullable(),
    })
    .nullable()
    .describe('Null for a step that is a part of the next event.'),
  correction_id: z.uuid().nullable(),
});
export type Step = z.infer<typeof stepSchema>;
export type StepKind = Step['kind'];

type Draft = Pick<Step, 'kind' | 'time' | 'title' | 'text' | 'actor'> & Partial<Step>;

/** @param request metadata of the charge, as the log has them; undefined where it has no such event */
export function stepsOf(record: DownloadRecord, request: EventMetadata | undefined): Step[] {
  const drafts = [
    ...requestSteps(record, request),
    ...eventSteps(record),
    ...record.corrections.flatMap(correctionSteps),
    ...record.credit_notes.map(creditNoteStep),
    ...record.access_records.toReversed().map(accessStep),
  ];
  // Stable: events of one instant keep the order of the log.
  const ordered = drafts.toSorted((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0));
  let left = 0;
  return ordered.map((draft, index) => {
    const { cents = null } = draft;
    left += cents ?? 0;
    return {
      ...nothing,
      ...draft,
      gap_ms: gapMs(ordered[index - 1], draft),
      download_cents: cents === null ? null : left,
    };
  });
}

const nothing = {
  cents: null,
  download_cents: null,
  period_cents: null,
  attempt: null,
  status: null,
  event: null,
  correction_id: null,
};

const gapMs = (before: Draft | undefined, { time }: Draft) => (before ? Date.parse(time) - Date.parse(before.time) : 0);

/** The request and its decision are a part of the charge. */
function requestSteps({ timeline }: DownloadRecord, request: EventMetadata | undefined): Draft[] {
  const charge = timeline.find(({ cents }) => cents !== null);
  if (!charge) return [];
  const { time, actor } = charge;
  const decided: Draft = { kind: 'request', title: 'Decided:', text: decisionText(charge), time, actor };
  if (!request) return [decided];
  const text = `request ${request.$correlationId}`;
  return [{ kind: 'request', title: 'Asked for:', text, time, actor: request.actor }, decided];
}

function decisionText({ type, data }: TimelineRow): string {
  if (type !== 'OverageCharged') return 'accepted within the allowance of the plan';
  const { rate_cents: rate, rate_version: version } = data as UsageEventOf<'OverageCharged'>['data'];
  return `accepted beyond the allowance, at ${formatCents(rate)} of the price list ${version}`;
}

const kinds: Partial<Record<DomainEvent['type'], StepKind>> = {
  DownloadCreditDebited: 'money',
  OverageCharged: 'money',
  DownloadVoided: 'money',
  ChargeWaived: 'money',
  DownloadCreditReturned: 'money',
  DownloadConfirmed: 'request',
  JobCompleted: 'file',
  FileExpired: 'file',
};

function eventSteps({ timeline, download, period_after }: DownloadRecord): Draft[] {
  let job = initialJob;
  let attempts = 0;
  let isHeld = false;
  return timeline.map((row): Draft => {
    const { type, time, actor, cents, stream, revision, position, data } = row;
    if (type === 'JobClaimed') {
      attempts += 1;
      isHeld = true;
    }
    const attempt = isHeld ? attempts : null;
    if (type === 'JobReleased' || type === 'JobCompleted' || type === 'JobFailed') isHeld = false;
    if (stream.startsWith('job-')) job = evolveJob(job, { type, data } as JobEvent, { revision, time });
    return {
      kind: kinds[type] ?? 'work',
      time,
      title: eventTitle(type),
      text: describeEvent(row),
      actor,
      cents,
      attempt,
      status: type === 'DownloadCreditDebited' || type === 'OverageCharged' ? null : job.status,
      period_cents: type === 'OverageCharged' ? download.running_cents : (period_after[row.event_id] ?? null),
      event: { id: row.event_id, type, stream, revision, position, data: data as Record<string, unknown> },
    };
  });
}

type Row = DownloadRecord['corrections'][number];

/** The money that a correction gives back has a step of its own: the waiver or the credit note. */
function correctionSteps(row: Row): Draft[] {
  const common = { kind: 'staff', correction_id: row.correction_id } as const;
  const asked: Draft = {
    ...common,
    time: row.asked_at,
    actor: row.asked_by,
    event: eventOf('CorrectionAsked', row.asked_event_id),
    title: 'Asked to give back:',
    text: `at most ${formatCents(row.cents)} under ${row.reference}${reasonOf(row.asked_by)}`,
  };
  const steps = [asked];
  if (row.decided_at !== null && row.decided_by && row.decided_event_id !== null) {
    const isRefused = row.status === 'refused';
    steps.push({
      ...common,
      time: row.decided_at,
      actor: row.decided_by,
      title: isRefused ? 'Refused:' : 'Approved:',
      text: reasonOf(row.decided_by).slice(2),
      event: eventOf(isRefused ? 'CorrectionRefused' : 'CorrectionApproved', row.decided_event_id),
    });
  }
  if (row.status === 'failed' && row.ended_at !== null) {
    const why = (row.why ?? '').replaceAll('_', ' ');
    steps.push({ ...common, time: row.ended_at, actor: row.asked_by, title: 'Not given back:', text: why });
  }
  return steps;
}

const reasonOf = (actor: Actor) => (actor.type === 'staff' ? `: ${actor.reason}` : '');

const eventOf = (type: DomainEvent['type'], id: string) => ({
  id,
  type,
  stream: null,
  revision: null,
  position: null,
  data: null,
});

const creditNoteStep = (note: DownloadRecord['credit_notes'][number]): Draft => ({
  kind: 'money',
  time: note.time,
  actor: note.actor,
  cents: -note.cents,
  title: 'Credited:',
  text: `credit note ${String(note.number)} of invoice ${String(note.invoice_number)} under ${note.reference}${reasonOf(note.actor)}`,
  event: eventOf('CreditNoteIssued', note.event_id),
});

const accessStep = ({ time, staff_id: id, page }: DownloadRecord['access_records'][number]): Draft => ({
  kind: 'staff',
  time,
  title: 'Looked at',
  text: page === 'download' ? '' : `on the page of the ${page}`,
  actor: { type: 'staff', id, role: 'staff', reason: `looks at ${page}` },
});

/** What a step charges or gives back, and what that comes to. */
export function amountsOf({ cents, event, download_cents: soFar, period_cents: period }: Step): string {
  if (cents === null) return '';
  const credit = event?.type === 'DownloadCreditDebited' ? '1 credit' : '1 credit back';
  const left = soFar !== null && soFar !== cents ? `, ${money(soFar)} left` : '';
  const stands = period === null ? '' : `; the period stands at ${money(period)}`;
  return `${cents === 0 ? credit : money(cents)}${left}${stands}`;
}
