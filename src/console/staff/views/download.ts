import { z } from 'zod';
import { hasIdempotencyKey, repeatedAt } from '../../../../projections/job-timeline.ts';
import { type DownloadRecord, readDownloadRecord } from '../../../../projections/queries/download-record.ts';
import { jobStatuses } from '../../../domain/download-job.ts';
import { failureReasonNames, failureReasons } from '../../../domain/failure-reasons.ts';
import { eventMetadata } from '../../../domain/parse-event.ts';
import type { RecordedEvent } from '../../../ports/event-store.ts';
import { missing } from '../../visit.ts';
import { type JsonView, pick } from '../view.ts';
import { stepSchema, stepsOf } from './download-steps.ts';
import { customer } from './overage.ts';
import { waitingCorrection, waitingOf } from './waiting-corrections.ts';

const instant = z.iso.datetime();

const place = z.strictObject({ stream: z.string(), revision: z.int(), type: z.string() });

/** As its row has them. */
const ofJob = {
  token: z.string(),
  account_id: z.string(),
  platform: z.string(),
  video_id: z.string(),
  title: z.string().nullable().describe('As the platform gave it; null before its end, or if it gave none.'),
  url: z.string(),
  format: z.string(),
  quality: z.string(),
  status: z.enum(jobStatuses),
  attempts: z.int().describe('Claims so far, without those that a shutdown released.'),
  queued_at: instant,
  started_at: instant.nullable().describe('When its latest attempt began.'),
  finished_at: instant.nullable(),
  failure_reason: z.enum(failureReasonNames).nullable(),
  key_id: z.string().nullable().describe('API key of the request.'),
  overage: z.boolean().describe('Beyond the allowance of the plan.'),
};

const shown = z.strictObject({
  ...ofJob,
  customer,
  key_prefix: z.string().nullable().describe('The beginning of that key, which people have.'),
  key_label: z.string().nullable(),
  has_idempotency_key: z
    .boolean()
    .nullable()
    .describe('Whether the request came with an `Idempotency-Key`; null while the timeline is not known.'),
  repeated_at: instant
    .nullable()
    .describe('When the request was first sent again, and answered with this download; null if it was not.'),
  failure_message: z.string().nullable().describe('The reason, as clients read it.'),
  file: z
    .strictObject({ mime: z.string(), size_bytes: z.int(), expired_at: instant.nullable() })
    .nullable()
    .describe('Null before it is finished.'),
  request_id: z.string().nullable().describe('The request that asked for it: its `X-Request-Id`.'),
  charged_cents: z.int().nullable().describe('0 for a credit; null for a download from before charges were kept here.'),
  given_back_cents: z.int().describe('By voids, waivers and credit notes that name the download.'),
  left_cents: z.int().describe('What is left of the charge.'),
  waiting_corrections: z
    .array(waitingCorrection)
    .describe('What is asked back of the charge already, and waits for a second person.'),
  period_cents: z.int().nullable().describe('Overage of the whole billing period directly after the charge.'),
  usage: z
    .strictObject({
      stream: z.string(),
      before: place.nullable().describe('The event before the charge.'),
      after: place.nullable().describe('The event after the download was queued.'),
    })
    .describe("Its neighbours in the account's stream of usage."),
  steps: z.array(stepSchema).describe('Everything that happened to it, in the order of time.'),
  answer: z
    .strictObject({ status: z.int(), body: z.record(z.string(), z.unknown()) })
    .describe('What a client that polls now is answered. The link to the file is shown without its signature.'),
});
export type Download = z.infer<typeof shown>;

const input = z.object({ token: z.string().max(100).describe('The `request_token` of the download.') });

export const download: JsonView<z.infer<typeof input>, Download> = {
  operationId: 'getDownload',
  summary: 'A download, step by step',
  input,
  shown,
  read: async ({ pool, store, macs, pollAnswer }, { token }) => {
    const record = await readDownloadRecord(pool, { token, macs });
    if (!record) throw missing();
    const { usage_stream: stream, usage_revision: revision } = record.download;
    const from = Math.max(0, revision - 2);
    const around = await store.read(stream, from, 4);
    const at = (wanted: number) => around.find((event) => event.revision === wanted);
    const charge = eventMetadata.safeParse(at(revision - 1)?.metadata).data;
    const facts = factsOf(record);
    const credits = facts.overage || record.timeline.some(({ type }) => givesCreditBack.has(type)) ? 0 : 1;
    const answer = await pollAnswer({ ...record.download, credits, given_back_cents: facts.given_back_cents });
    return {
      ...facts,
      request_id: charge?.$correlationId ?? null,
      usage: { stream, before: placeOf(at(revision - 2)), after: placeOf(at(revision + 1)) },
      steps: stepsOf(record, charge),
      answer: { ...answer, body: answer.body as Record<string, unknown> },
    };
  },
  named: (shown) => [shown],
  accessRecords: ({ account_id: accountId, token }) => [{ accountId, token, page: 'download' }],
};

const givesCreditBack = new Set(['DownloadVoided', 'DownloadCreditReturned']);

const placeOf = (event: RecordedEvent | undefined) => (event ? pick(event, place.shape) : null);

function factsOf({ download: job, timeline, corrections, credit_notes: notes, api_key: key }: DownloadRecord) {
  const { failure_reason: reason, file_mime: mime, cents: charged } = job;
  const inPeriod = timeline.reduce((sum, { cents }) => sum + Math.max(0, 0 - (cents ?? 0)), 0);
  const givenBack = inPeriod + notes.reduce((sum, note) => sum + note.cents, 0);
  return {
    ...pick(job, ofJob),
    customer: null,
    key_prefix: key?.key_prefix ?? null,
    key_label: key?.label ?? null,
    has_idempotency_key: hasIdempotencyKey(timeline) ?? null,
    repeated_at: repeatedAt(timeline),
    failure_message: reason === null ? null : failureReasons[reason].message,
    file: mime === null ? null : { mime, size_bytes: job.file_size_bytes ?? 0, expired_at: job.file_expired_at },
    charged_cents: charged,
    given_back_cents: givenBack,
    left_cents: Math.max(0, (charged ?? 0) - givenBack),
    waiting_corrections: waitingOf(corrections, [job.token]),
    period_cents: job.overage ? job.running_cents : null,
  };
}
