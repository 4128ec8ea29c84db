import type { PoolClient } from 'pg';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import { evolveJob, initialJob, type Job } from '../src/domain/download-job.ts';
import type { JobEvent } from '../src/domain/download-job-events.ts';
import type { FailureReason } from '../src/domain/failure-reasons.ts';
import { later } from '../src/domain/instant.ts';
import { type ParsedEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import { centsOf, type DownloadQueued, type UsageEvent } from '../src/domain/usage-events.ts';
import type { EventStore } from '../src/ports/event-store.ts';
import { type ChargeLeft, chargeLeftColumns, chargeLeftFromText } from './charge-left.ts';
import { instantFromText, type Queryable, withInstants } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/** The read model behind GET /video/status: table `jobs`. */

export type JobRow = ReturnType<typeof queuedRow>;

/** A row as it begins, as JSON; instants are UTC ISO-8601. */
function queuedRow(
  { stream, revision, metadata }: ParsedEvent,
  queued: DownloadQueued,
  { cents, running_cents }: Record<'cents' | 'running_cents', number | null>,
) {
  const { actor } = metadata;
  return {
    token: queued.token,
    account_id: periodOfUsageStream(stream).accountId,
    usage_stream: stream,
    usage_revision: revision,
    platform: queued.platform,
    video_id: queued.video_id,
    url: queued.url,
    format: queued.format,
    quality: queued.quality,
    overage: queued.overage,
    status: initialJob.status,
    revision: -1,
    last_hash: null as string | null,
    attempts: 0,
    worker_id: null as string | null,
    claim_revision: null as number | null,
    claimed_at: null as string | null,
    not_before: null as string | null,
    queued_at: metadata.time,
    waiting_since: metadata.time,
    started_at: null as string | null,
    finished_at: null as string | null,
    /**
     * Commit position of the event that ended it, in digits, because it may exceed the safe integers; null before its end, and for a
     * row from before the column.
     */
    ended_position: null as string | null,
    file_claim_revision: null as number | null,
    file_name: null as string | null,
    file_mime: null as string | null,
    file_size_bytes: null as number | null,
    file_expired_at: null as string | null,
    /** As the platform gave it; null before its end, for an item without one, and for a row from before the column. */
    title: null as string | null,
    failure_reason: null as FailureReason | null,
    /** API key of the request; null if there was none, or for a row from before the column. */
    key_id: actor.type === 'api_key' ? actor.id : null,
    /** Cents of the charge, whatever was given back of it since: 0 for a credit; null for a row from before the column. */
    cents,
    /**
     * Cents of overage of the whole period directly after the charge, less what was given back by then; null for a row from before
     * the column.
     */
    running_cents,
  };
}

/** `to_jsonb` writes instants with an offset and varying digits, unlike the rest of the service. */
export const jobFromJson = (json: JobRow): JobRow =>
  withInstants(
    json,
    'claimed_at',
    'not_before',
    'queued_at',
    'waiting_since',
    'started_at',
    'finished_at',
    'file_expired_at',
  );

/** The columns of a job that the answer to a poll needs, beside what was given back of its charge. */
const polledColumns = [
  'token',
  'account_id',
  'platform',
  'video_id',
  'status',
  'queued_at',
  'started_at',
  'finished_at',
  'failure_reason',
  'file_claim_revision',
  'file_name',
  'file_mime',
  'file_size_bytes',
  'file_expired_at',
  'cents',
] as const;
export type PolledJob = Pick<JobRow, (typeof polledColumns)[number]> & ChargeLeft;

/** The select list of `polledJobFromText`. @param alias of the table in the query */
export const polledJobColumns = (alias: string): string[] => [
  ...polledColumns.map((column) => `${alias}.${column}`),
  ...chargeLeftColumns(alias),
];

/**
 * @param values as Postgres writes them, in the order of `polledJobColumns`, from a session in UTC
 * @returns undefined if the query found no job
 */
export function polledJobFromText(values: readonly (string | null)[]): PolledJob | undefined {
  const [token, account_id, platform, video_id, status, queued_at, started_at, finished_at, failure_reason, ...file] =
    values;
  const [claimRevision, file_name = null, file_mime = null, sizeBytes, expired_at, cents, ...charge] = file;
  if (!token || !account_id || !platform || !video_id || !status || !queued_at) return undefined;
  return {
    token,
    account_id,
    platform,
    video_id,
    status: status as JobRow['status'],
    queued_at: instantFromText(queued_at),
    started_at: started_at ? instantFromText(started_at) : null,
    finished_at: finished_at ? instantFromText(finished_at) : null,
    failure_reason: (failure_reason ?? null) as JobRow['failure_reason'],
    file_claim_revision: claimRevision ? Number(claimRevision) : null,
    file_name,
    file_mime,
    file_size_bytes: sizeBytes ? Number(sizeBytes) : null,
    file_expired_at: expired_at ? instantFromText(expired_at) : null,
    cents: cents ? Number(cents) : null,
    ...chargeLeftFromText(charge),
  };
}

/** A row of `jobs` as `JobRow`. @param alias of the table in the query */
const jobJsonSql = (alias: string) =>
  `to_jsonb(${alias}) || jsonb_build_object('ended_position', ${alias}.ended_position::text)`;

async function select(client: Queryable, sql: string, values: readonly unknown[]): Promise<JobRow[]> {
  const { rows } = await client.query<{ job: JobRow }>(`select ${jobJsonSql('j')} as job from jobs j ${sql}`, [
    ...values,
  ]);
  return rows.map(({ job }) => jobFromJson(job));
}

export async function readJob(client: Queryable, token: string): Promise<JobRow | undefined> {
  return (await select(client, 'where token = $1', [token]))[0];
}

export const readJobs = (client: Queryable, tokens: readonly string[]): Promise<JobRow[]> =>
  select(client, 'where token = any($1::text[])', [tokens]);

export interface JobFilter {
  account?: string;
  status?: JobRow['status'];
  /** Queued at this instant or later; UTC ISO-8601. */
  since?: string;
}

/**
 * The newest first.
 *
 * @param after a token: only downloads that were queued before it
 */
export const listJobs = (
  client: Queryable,
  { account, status, since, after, limit }: JobFilter & { after?: string; limit: number },
): Promise<JobRow[]> =>
  select(
    client,
    `where ($1::text is null or account_id = $1) and ($2::text is null or status = $2)
       and ($3::timestamptz is null or queued_at >= $3)
       and ($4::text is null or (queued_at, token) < (select queued_at, token from jobs where token = $4))
     order by queued_at desc, token desc limit $5`,
    [account ?? null, status ?? null, since ?? null, after ?? null, limit],
  );

/** The status of a job that the caller knows. */
export type JobStatus = Pick<JobRow, 'token' | 'status'>;

/** The jobs whose status differs from the known one, each with its current status. */
export async function listChangedJobs(client: Queryable, known: readonly JobStatus[]): Promise<JobStatus[]> {
  const { rows } = await client.query<JobStatus>(
    // Tokens and statuses hold no comma. Arrays of thousands of them would cost this process several times as much.
    `select distinct token, j.status
     from unnest(string_to_array($1, ','), string_to_array($2, ',')) known (token, status) join jobs j using (token)
     where j.status <> known.status`,
    [known.map(({ token }) => token).join(), known.map(({ status }) => status).join()],
  );
  return rows;
}

/** Downloads of a period that were charged beyond the allowance and have failed, in the order of their charges. */
export async function listFailedOverage(
  client: Queryable,
  { stream, reason }: { stream: string; reason?: FailureReason | undefined },
): Promise<Pick<JobRow, 'token' | 'usage_revision'>[]> {
  const { rows } = await client.query<Pick<JobRow, 'token' | 'usage_revision'>>(
    `select token, usage_revision::float8 from jobs j
     where account_id = split_part($1, '-', 2) and usage_stream = $1 and overage and status = 'failed'
       and failure_reason <> 'voided' and ($2::text is null or failure_reason = $2)
     order by usage_revision`,
    [stream, reason ?? null],
  );
  return rows;
}

interface JobsDependencies {
  client: PoolClient;
  store: Pick<EventStore, 'read'>;
  /** The overage of its period directly after each download that the events queue, by its token. */
  running: ReadonlyMap<string, number>;
}

/** @returns the rows that were written, by token */
export async function applyToJobs(
  events: readonly (ParsedEvent<UsageEvent> | ParsedEvent<JobEvent>)[],
  { client, store, running }: JobsDependencies,
): Promise<ReadonlyMap<string, JobRow>> {
  const changing = events.filter(({ event, stream }) => event.type === 'DownloadQueued' || stream.startsWith('job-'));
  if (changing.length === 0) return new Map();
  const jobs = await readJobsBefore(changing, client);
  const charges = chargesIn(events);
  for (const parsed of changing) {
    if (parsed.event.type === 'DownloadQueued') {
      const { data } = parsed.event;
      const cents = data.overage ? (charges.get(data.token) ?? (await readCharge(parsed, store))) : 0;
      const money = { cents, running_cents: running.get(data.token) ?? null };
      jobs.set(data.token, queuedRow(parsed, data, money));
    } else {
      const row = nextRow(jobs, parsed);
      jobs.set(row.token, row);
    }
  }
  await upsertRows(client, 'jobs', { key: ['token'], rows: [...jobs.values()] });
  return jobs;
}

/** The cents of overage by the tokens of their downloads. */
function chargesIn(events: readonly ParsedEvent[]): ReadonlyMap<string, number> {
  return new Map(
    events.flatMap(({ event }) => (event.type === 'OverageCharged' ? [[event.data.token, event.data.cents]] : [])),
  );
}

/** The charge stands directly before its download in the log, but here the two may come in different batches. */
async function readCharge({ stream, revision }: ParsedEvent, store: Pick<EventStore, 'read'>): Promise<number | null> {
  const [charge] = await store.read(stream, revision - 1, 1);
  return (charge && centsOf(parseUsageEvent(charge).event)) ?? null;
}

/** The rows that the events change, without those that they create. */
async function readJobsBefore(
  events: readonly (ParsedEvent<UsageEvent> | ParsedEvent<JobEvent>)[],
  client: PoolClient,
): Promise<Map<string, JobRow>> {
  const created = new Set(events.map(({ event }) => (event.type === 'DownloadQueued' ? event.data.token : undefined)));
  const tokens = events.map(({ event }) => (event.data as { token: string }).token);
  const missing = [...new Set(tokens)].filter((token) => !created.has(token));
  if (missing.length === 0) return new Map();
  const { rows } = await client.query<{ job: JobRow }>(
    `select ${jobJsonSql('j')} as job from jobs j where token = any($1)`,
    [missing],
  );
  return new Map(rows.map(({ job }) => [job.token, job]));
}

function nextRow(jobs: ReadonlyMap<string, JobRow>, parsed: ParsedEvent<UsageEvent> | ParsedEvent<JobEvent>): JobRow {
  const { event, revision, metadata, stream, position } = parsed as ParsedEvent<JobEvent>;
  const row = jobs.get(event.data.token);
  if (row?.revision !== revision - 1)
    throw new Error(`${stream} stands at ${String(row?.revision)}, ${String(revision)} came next`);
  const { time } = metadata;
  const job = evolveJob(jobOf(row), event, { revision, time });
  const finished = job.status === 'done' || job.status === 'failed';
  return {
    ...row,
    revision,
    last_hash: metadata.hash,
    status: job.status,
    attempts: job.attempts,
    worker_id: job.claim?.workerId ?? null,
    claim_revision: job.claim?.revision ?? null,
    claimed_at: job.claim?.claimedAt ?? row.claimed_at,
    not_before: job.notBefore,
    waiting_since: event.type === 'JobReleased' ? later(time, event.data.not_before) : row.waiting_since,
    started_at: event.type === 'JobStarted' ? time : row.started_at,
    finished_at: finished ? (row.finished_at ?? time) : null,
    ended_position: finished ? (row.ended_position ?? String(position)) : null,
    ...(event.type === 'JobCompleted' && {
      file_claim_revision: event.data.claim_revision,
      file_name: event.data.file_name,
      file_mime: event.data.file_mime,
      file_size_bytes: event.data.file_size_bytes,
    }),
    ...(event.type === 'JobFailed' && { failure_reason: event.data.reason }),
    ...((event.type === 'JobCompleted' || event.type === 'JobFailed') && { title: event.data.title ?? null }),
    ...(event.type === 'FileExpired' && { file_expired_at: time }),
  };
}

function jobOf(row: JobRow): Job {
  const { status, attempts, worker_id, claim_revision, claimed_at, not_before } = row;
  const claim =
    worker_id === null || claim_revision === null
      ? null
      : { workerId: worker_id, revision: claim_revision, claimedAt: claimed_at ?? '' };
  const { file_claim_revision: claimRevision, finished_at: completedAt, file_expired_at: expiredAt } = row;
  const file =
    claimRevision === null ? null : { claimRevision, completedAt: completedAt ?? '', expired: expiredAt !== null };
  // The worker reads the tried formats from the log.
  return { status, attempts, claim, notBefore: not_before, file, tried: [] };
}
