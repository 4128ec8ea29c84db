import type { RecordedEvent } from '../rules/audited-log.ts';
import { openerOf } from '../rules/account.ts';
import { centsTaken } from '../rules/cents-taken.ts';
import { accountOf, parseStreamName } from '../rules/streams.ts';
import type { Link } from '../rules/event-schemas.ts';
import type { Table } from './expected-rows.ts';
import { dayOf } from './usage-day.ts';

type KeyOf = (event: Link) => string | undefined | null | false;

const keyOf: Readonly<Record<Table, KeyOf>> = {
  account_heads: ({ type, data }) => type === 'AccountOpened' && data.account_id,
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
    (type === 'InvoiceIssued' || type === 'CreditNoteIssued') && (data.mail_to ?? []).length > 0 && id,
  usage_warnings: ({ type, id }) => (type === 'UsageWarningReached' || type === 'OverageCapReached') && id,
};

/** The key of the row that an event makes in a table, as Postgres writes it. @returns undefined if it makes none */
export function rowKeyOf(table: Table, event: RecordedEvent): string | undefined {
  if (!parseStreamName(event.stream) || typeof event.data !== 'object' || event.data === null) return undefined;
  const key = keyOf[table](event as Link);
  return typeof key === 'string' ? key : undefined;
}
