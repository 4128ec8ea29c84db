import { openerOf } from '../rules/account.ts';
import type { RecordedEvent } from '../rules/audited-log.ts';
import { centsTaken } from '../rules/cents-taken.ts';
import type { Link } from '../rules/event-schemas.ts';
import { accountOf, parseStreamName } from '../rules/streams.ts';
import { isTreeLeaf } from '../rules/tree-heads.ts';
import type { Table } from './columns.ts';
import { dayOf, outcomeOf } from './days.ts';
import { phases } from './period-money.ts';
import { emailOf, isOfStaff } from './rows-of-staff.ts';

const changes = [
  ...['PlanChanged', 'OverageCapSet', 'OverageCapRemoved', 'OverageCapReached'],
  ...['KeyLimitSet', 'KeyLimitRemoved', 'AccountSuspended', 'SuspensionLifted'],
];

/** True for an event that changes the terms of an account, ends it, or stops its downloads. */
export const isChange = ({ type, data }: Link): boolean =>
  changes.includes(type) || (type === 'UsagePeriodEnded' && data.next === null);

type KeyOf = (event: Link) => string | undefined | null | false;

const keyOf: Readonly<Record<Exclude<Table, 'month_money' | 'job_days' | 'proof_leaves' | 'proof_nodes'>, KeyOf>> = {
  account_heads: ({ type, data }) => type === 'AccountOpened' && data.account_id,
  customers: ({ type, data }) => type === 'AccountOpened' && data.account_id,
  api_keys: ({ type, data }) => type === 'ApiKeyIssued' && data.key_id,
  api_key_window: ({ type, data }) => type === 'ApiKeyIssued' && data.key_id,
  hourly_limits: ({ type, data }) => type === 'AccountOpened' && data.account_id,
  credits: ({ type, stream }) => type === 'UsagePeriodOpened' && stream,
  jobs: ({ type, data }) => type === 'DownloadQueued' && data.token,
  job_timeline: ({ data, position }) => !!data.token && `${data.token} ${String(position)}`,
  overage_ledger: (event) => centsTaken(event) !== undefined && event.id,
  idempotency_keys: ({ type, stream, data }) =>
    type === 'DownloadQueued' && data.idempotency && `${accountOf(stream) ?? ''} ${data.idempotency.key_hash}`,
  people: ({ type, stream, data }) => {
    const accountId = accountOf(stream) ?? '';
    if (type === 'AccountOpened') return `${accountId} ${openerOf(accountId)}`;
    return type === 'PersonInvited' && `${accountId} ${data.person_id}`;
  },
  usage_days: (event) => centsTaken(event) !== undefined && `${event.stream} ${dayOf(event)}`,
  invoices: ({ type, id }) => (type === 'InvoiceIssued' || type === 'CreditNoteIssued') && id,
  document_mails: ({ type, id, data }) =>
    (type === 'InvoiceIssued' || type === 'CreditNoteIssued' || type === 'DocumentMailAsked') &&
    (data.mail_to ?? []).length > 0 &&
    id,
  period_money: ({ type, stream, data }) =>
    type === 'UsagePeriodOpened' && `${accountOf(stream) ?? ''} ${String(Date.parse(data.period_start))}`,
  staff: ({ type, data }) => (type === 'StaffInvited' || type === 'StaffSignedIn') && data.staff_id,
  staff_addresses: (event) => emailOf(event) !== null && event.data.staff_id,
  staff_tokens: ({ type, data }) => type === 'StaffTokenIssued' && data.token_id,
  staff_looks: ({ type, id }) => type === 'PersonalDataViewed' && id,
  corrections: ({ type, data }) => type === 'CorrectionAsked' && data.correction_id,
  proof_heads: ({ type, data }) => type === 'TreeHeadSigned' && String(data.size),
  usage_changes: (event) => isChange(event) && event.id,
  usage_warnings: ({ type, id }) => (type === 'UsageWarningReached' || type === 'OverageCapReached') && id,
};

/** A month's sums come with its first period: one of each phase. */
const monthKeys = ({ type, data }: Link): string[] =>
  type === 'UsagePeriodOpened' ? phases.map((phase) => `${data.period_start.slice(0, 7)} ${phase}`) : [];

/** The platform of a download stands in the event that queued it. */
function jobDayKeys(): (event: Link) => string[] {
  const platforms = new Map<string, string>();
  return (event) => {
    const { type, data } = event;
    if (type === 'DownloadQueued') platforms.set(data.token, data.platform);
    if (type !== 'JobCompleted' && type !== 'JobFailed') return [];
    return [`${dayOf(event)} ${platforms.get(data.token) ?? ''} ${outcomeOf(event)}`];
  };
}

/** Leaves are numbered in the order of the log. @param keysOf names the rows of the leaf of an index */
function leafKeys(keysOf: (index: number) => string[]): (event: Link) => string[] {
  let size = 0;
  return (event) => {
    if (!isTreeLeaf(event)) return [];
    size += 1;
    return keysOf(size - 1);
  };
}

/** The nodes that a leaf completes: itself, and each subtree whose last leaf it is. */
function nodeKeys(leafIndex: number): string[] {
  const keys = [`0 ${String(leafIndex)}`];
  for (let [level, index] = [1, leafIndex]; index % 2 === 1; level += 1) {
    index = (index - 1) / 2;
    keys.push(`${String(level)} ${String(index)}`);
  }
  return keys;
}

/** The keys of the rows that each event makes in a table, as Postgres writes them. It is given the events of the log in order. */
export function rowKeysOf(table: Table): (event: RecordedEvent) => readonly string[] {
  const keysOf = ((): ((event: Link) => readonly string[]) => {
    if (table === 'month_money') return monthKeys;
    if (table === 'job_days') return jobDayKeys();
    if (table === 'proof_leaves') return leafKeys((index) => [String(index)]);
    if (table === 'proof_nodes') return leafKeys(nodeKeys);
    return (event) => {
      const key = keyOf[table](event);
      return typeof key === 'string' ? [key] : [];
    };
  })();
  return (event) => {
    const isOurs = parseStreamName(event.stream) ?? isOfStaff(event.stream);
    if (!isOurs || typeof event.data !== 'object' || event.data === null) return [];
    return keysOf(event as Link);
  };
}
