import type { Account, ApiKey, Person } from '../rules/account.ts';
import type { RecordedEvent } from '../rules/audited-log.ts';
import type { Completeness } from '../rules/completeness.ts';
import type { Link } from '../rules/event-schemas.ts';
import type { TreeNode } from '../rules/hash-tree.ts';
import { feeOf } from '../rules/invoice-lines.ts';
import type { Job } from '../rules/job.ts';
import type { Charge, Period } from '../rules/period.ts';
import { emptyJobDay, emptyUsageDay } from './days.ts';
import { type Correction, emptyMonth, emptyPeriod, newMember, type Token } from './subjects.ts';

type Columns<Subject> = Readonly<Record<string, (subject: Subject) => unknown>>;

/** Says of which subject the columns are. */
const of = <Subject extends object>(columns: Columns<Subject>): Columns<Subject> => columns;

/** Columns that have the names of fields of a part of the subject. */
function fields<Subject, Part extends object>(
  partOf: (subject: Subject) => Part | undefined | null,
  ...names: readonly (keyof Part & string)[]
): Columns<Subject> {
  return Object.fromEntries(names.map((name) => [name, (subject: Subject) => partOf(subject)?.[name]]));
}

/** Columns of a subject that is written like the row. @param example has all of its fields */
const allOf = <Subject extends object>(example: Subject): Columns<Subject> =>
  fields((subject: Subject) => subject, ...(Object.keys(example) as (keyof Subject & string)[]));

/** A label, which is personal: docs/events.md says no more of its form. */
const labelOf = ({ data }: Link) => (Object(data.personal) as { label?: unknown }).label ?? '';

interface WindowOfKey {
  key: ApiKey;
  /** The first 128 bits of the key's hash. */
  hash: string;
  revoked: boolean;
}

/** A period of usage, with what is not invoiced yet. */
interface Credits {
  period: Period;
  completeness: Completeness;
}

/** A charge or a correction, and the cents that it takes. */
type LedgerEntry = Link & { accountId: string; periodStart: string | undefined; taken: number };

/** A download with a key, and an event about it. */
interface KeyedDownload {
  charge: Charge;
  event: Link;
  accountId: string;
}

/** The event of a notice, and the mail about it. */
type NoticeRow = Link & { accountId: string; messageId: string | null };

/** An event that changes the terms of an account. */
type Change = Link & { accountId: string };

/** A document, with the people whose mail is not recorded yet. */
type DocumentRow = Pick<Link, 'id' | 'stream' | 'revision'> & {
  accountId: string;
  time: string;
  waiting: readonly string[];
};

/** A leaf of the tree of what was closed and invoiced. */
interface Leaf {
  event: RecordedEvent;
  index: number;
  entry: string;
}

/** An event of a download, as it is stored. */
interface TimelineEntry {
  event: Link;
  taken: number | undefined;
}

/**
 * For every table that is compared, what each column of a row must have, by the subject of the row: see `expected-rows.ts`.
 * Divergences name columns in this order, and acknowledgements are found by that name.
 */
export const columns = {
  account_heads: of<Account>({
    account_id: ({ opened }) => opened?.account_id,
    revision: ({ revision }) => revision,
    last_hash: ({ lastHash }) => lastHash,
    closed: ({ closed }) => closed !== undefined,
    erased_at: ({ erased }) => erased?.metadata.time,
    documents_until: ({ erased }) => erased?.data.documents_until,
  }),
  api_keys: of<ApiKey>({
    ...fields((key: ApiKey) => key, 'key_id', 'account_id', 'key_hash', 'key_prefix'),
    created_at: ({ since }) => since,
    revoked_at: ({ revokedAt }) => revokedAt,
  }),
  api_key_window: of<WindowOfKey>({
    hash: ({ hash }) => hash,
    ...fields(({ key }: WindowOfKey) => key, 'key_id', 'account_id'),
    hourly_limit: ({ key }) => key.account.hourlyLimit,
    revoked: ({ revoked }) => revoked,
  }),
  hourly_limits: of<Account>({
    account_id: ({ opened }) => opened?.account_id,
    hourly_limit: ({ hourlyLimit }) => hourlyLimit,
  }),
  credits: of<Credits>({
    stream: ({ period }) => period.stream,
    revision: ({ period }) => period.revision,
    last_hash: ({ period }) => period.lastHash,
    last_time: ({ period }) => period.time,
    phase: ({ period }) => period.phase,
    terms: ({ period }) => period.terms,
    plan: ({ period }) => period.terms.plan,
    cap_reached: ({ period }) => period.capReached,
    ...fields(
      ({ period }: Credits) => period.opened?.data,
      ...(['account_id', 'anchor_day', 'period_start', 'period_end'] as const),
    ),
    downloads: ({ period }) => period.accepted.downloads,
    lookups: ({ period }) => period.accepted.metadata,
    download_credits: ({ period }) => period.credits.downloads,
    overage_downloads: ({ period }) => period.totals.overage_downloads,
    overage_cents: ({ period }) => period.totals.overage_cents,
    metadata_credits: ({ period }) => period.credits.metadata,
    fee_difference_cents: ({ period }) => period.totals.fee_difference_cents,
    plan_changes: ({ period }) => period.planChanges,
    fee_cents: ({ period: { opened, totals } }) =>
      (opened ? feeOf(opened.data.terms) : 0) + totals.fee_difference_cents,
    due: ({ period: { due, dueIsOfOwner } }) => {
      const { plan, cap } = due;
      return plan || cap ? { ...(plan && { plan, plan_of_owner: dueIsOfOwner }), ...cap } : null;
    },
    warned: ({ period }) => [...period.warned],
    key_use: ({ period }) => Object.fromEntries(period.keyUse ?? []),
    next: ({ period: { next } }) =>
      next ? { period: { start: next.period_start, end: next.period_end }, terms: next.terms } : null,
    opening_invoice_due: ({ period, completeness }) => completeness.openingIsDue(period),
    period_invoice_due: ({ period, completeness }) => completeness.periodIsDue(period),
  }),
  jobs: of<Job>({
    token: ({ queued }) => queued.token,
    account_id: ({ accountId }) => accountId,
    usage_stream: ({ queued }) => queued.stream,
    usage_revision: ({ queued }) => queued.revision,
    ...fields(({ queued }: Job) => queued, 'platform', 'video_id', 'url', 'format', 'quality', 'overage'),
    queued_at: ({ queued }) => queued.time,
    status: ({ status }) => status,
    revision: ({ revision }) => revision,
    last_hash: ({ lastHash }) => lastHash,
    attempts: ({ attempts }) => attempts,
    worker_id: ({ claim }) => claim?.data.worker_id,
    claim_revision: ({ claim }) => claim?.revision,
    claimed_at: ({ claimedAt }) => claimedAt,
    not_before: ({ notBefore }) => notBefore,
    waiting_since: ({ waitingSince }) => waitingSince,
    started_at: ({ startedAt }) => startedAt,
    finished_at: ({ end }) => end?.metadata.time,
    ended_position: ({ end }) => end?.position,
    failure_reason: ({ end }) => end?.data.reason,
    file_claim_revision: ({ end }) => end?.data.claim_revision,
    ...fields(({ end }: Job) => end?.data, 'file_name', 'file_mime', 'file_size_bytes', 'title'),
    file_expired_at: ({ expired }) => expired?.metadata.time,
    key_id: ({ queued }) => queued.keyId,
    cents: ({ cents }) => cents,
    running_cents: ({ runningCents }) => runningCents,
  }),
  job_timeline: of<TimelineEntry>({
    token: ({ event }) => event.data.token,
    ...fields(({ event }: TimelineEntry) => event, 'position', 'type', 'stream', 'revision'),
    event_id: ({ event }) => event.id,
    time: ({ event }) => event.metadata.time,
    actor: ({ event }) => event.metadata.actor,
    cents: ({ taken }) => taken,
    data: ({ event }) => event.data,
  }),
  overage_ledger: of<LedgerEntry>({
    event_id: ({ id }) => id,
    account_id: ({ accountId }) => accountId,
    period_start: ({ periodStart }) => periodStart,
    type: ({ type }) => type,
    ...fields(({ data }: LedgerEntry) => data, 'token', 'lookup_id', 'ordinal'),
    ...fields((entry: LedgerEntry) => entry, 'stream', 'revision', 'position'),
    time: ({ metadata }) => metadata.time,
    cents: ({ taken }) => taken,
    rate_cents: ({ data }) => data.rate_cents,
    rate_version: ({ data }) => data.rate_version,
    request_id: ({ metadata }) => metadata.$correlationId,
    actor: ({ metadata }) => metadata.actor,
    corrects: ({ data }) => data.charge_event_id,
    reference: ({ data }) => data.reference,
  }),
  idempotency_keys: of<KeyedDownload>({
    account_id: ({ accountId }) => accountId,
    key_hash: ({ charge }) => charge.key?.key_hash,
    fingerprint: ({ charge }) => charge.key?.fingerprint,
    token: ({ event }) => event.data.token,
    overage: ({ charge }) => charge.rate !== null,
    stream: ({ event }) => event.stream,
    // The download stands directly behind its charge.
    revision: ({ charge }) => charge.revision + 1,
    confirmed: ({ charge }) => charge.confirmed,
    voided: ({ charge }) => charge.voided,
  }),
  invoices: of<Link>({
    event_id: ({ id }) => id,
    account_id: ({ data }) => data.account_id,
    type: ({ type }) => type,
    number: ({ data }) => data.number,
    revision: ({ revision }) => revision,
    last_hash: ({ metadata }) => metadata.hash,
    position: ({ position }) => position,
    time: ({ metadata }) => metadata.time,
    covers: ({ data }) => data.covers,
    period_start: ({ data }) => data.period_start,
    total_cents: ({ type, data }) => (type === 'InvoiceIssued' ? data.total_cents : data.cents),
    data: ({ data }) => data,
    actor: ({ metadata }) => metadata.actor,
  }),
  customers: of<Account>({ account_id: ({ accountId }) => accountId }),
  people: of<Person>({
    account_id: ({ accountId }) => accountId,
    person_id: ({ personId }) => personId,
    since: ({ since }) => since,
    removed_at: ({ removedAt }) => removedAt,
  }),
  usage_days: allOf(emptyUsageDay('', '', '')),
  document_mails: of<DocumentRow>({
    event_id: ({ id }) => id,
    account_id: ({ accountId }) => accountId,
    revision: ({ revision }) => revision,
    time: ({ time }) => time,
    waiting: ({ waiting }) => waiting,
  }),
  usage_warnings: of<NoticeRow>({
    event_id: ({ id }) => id,
    account_id: ({ accountId }) => accountId,
    ...fields((notice: NoticeRow) => notice, 'type', 'stream', 'revision'),
    ...fields(({ data }: NoticeRow) => data, 'pool', 'threshold_percent', 'limited_key_id', 'used'),
    credit_limit: ({ data }) => data.limit,
    time: ({ metadata }) => metadata.time,
    message_id: ({ messageId }) => messageId,
  }),
  usage_changes: of<Change>({
    event_id: ({ id }) => id,
    account_id: ({ accountId }) => accountId,
    ...fields((change: Change) => change, 'stream', 'revision', 'position', 'type'),
    time: ({ metadata }) => metadata.time,
  }),
  period_money: allOf(emptyPeriod('', '')),
  month_money: allOf(emptyMonth('', '')),
  job_days: allOf(emptyJobDay('', '', '')),
  staff: allOf(newMember('')),
  staff_addresses: of<{ staff_id: string }>({ staff_id: ({ staff_id }) => staff_id }),
  staff_tokens: of<Token>({
    ...fields(({ issued }: Token) => issued.data, 'token_hash', 'token_id', 'staff_id'),
    prefix: ({ issued }) => issued.data.token_prefix,
    label: ({ issued }) => labelOf(issued),
    scopes: ({ issued }) => issued.data.scopes,
    created_at: ({ issued }) => issued.metadata.time,
    expires_at: ({ issued }) => issued.data.expires_at,
    revoked_at: ({ revokedAt }) => revokedAt,
  }),
  staff_looks: of<Link>({
    position: ({ position }) => position,
    event_id: ({ id }) => id,
    ...fields(({ data }: Link) => data, 'staff_id', 'account_id', 'token'),
    page: ({ data }) => (data as { page?: unknown }).page,
    time: ({ metadata }) => metadata.time,
  }),
  corrections: of<Correction>({
    correction_id: ({ asked }) => asked.data.correction_id,
    account_id: ({ asked }) => asked.data.account_id,
    position: ({ asked }) => asked.position,
    status: ({ status }) => status,
    revision: ({ revision }) => revision,
    kind: ({ asked }) => (Object(asked.data.correction) as { kind?: unknown }).kind,
    ...fields(
      ({ asked }: Correction) => asked.data,
      ...(['correction', 'reference', 'cents', 'limit_cents', 'needs_approval'] as const),
    ),
    asked_event_id: ({ asked }) => asked.id,
    asked_at: ({ asked }) => asked.metadata.time,
    asked_by: ({ asked }) => asked.metadata.actor,
    decided_event_id: ({ decided }) => decided?.id,
    decided_at: ({ decided }) => decided?.metadata.time,
    decided_by: ({ decided }) => decided?.metadata.actor,
    ended_at: ({ ended }) => ended?.metadata.time,
    made_cents: ({ madeCents }) => madeCents,
    why: ({ why }) => why,
  }),
  proof_leaves: of<Leaf>({
    leaf_index: ({ index }) => index,
    hash: ({ entry }) => entry,
    ...fields(({ event }: Leaf) => event, 'type', 'stream', 'revision'),
    event_id: ({ event }) => event.id,
    position: ({ event }) => event.position,
  }),
  proof_nodes: allOf<TreeNode>({ level: 0, node_index: 0, hash: '' }),
  proof_heads: of<Link>({
    ...fields(({ data }: Link) => data, 'size', 'origin', 'root', 'note', 'key'),
    revision: ({ revision }) => revision,
    position: ({ position }) => position,
    time: ({ metadata }) => metadata.time,
  }),
};

export type Table = keyof typeof columns;
export const tables = Object.keys(columns) as Table[];

/** The source of the columns of a table. */
export type SubjectOf<Name extends Table> =
  (typeof columns)[Name] extends Columns<infer Subject extends object> ? Subject : never;
