import type { Actor } from '../../src/domain/parse-event.ts';
import type { AccessRecord } from '../access-records.ts';
import { correctionFromJson, type CorrectionJson, correctionJsonSql, type CorrectionRow } from '../corrections.ts';
import { jobFromJson, type JobRow } from '../jobs.ts';
import { moneyCounts } from '../period-money.ts';
import { onlyRow, type Queryable, withInstants } from '../runner/rows.ts';
import { type Notice, noticesSql } from './operation.ts';
import type { PeriodMoney } from './overage-table.ts';

/** What the read models know of one account, beside its keys and its usage: the newest of each kind, in one statement. */
export interface AccountRecord {
  periods: Omit<PeriodMoney, 'account_id' | 'month'>[];
  downloads: JobRow[];
  documents: DocumentOfAccount[];
  corrections: CorrectionRow[];
  notices: Omit<Notice, 'account_id'>[];
  access_records: Pick<AccessRecord, 'event_id' | 'staff_id' | 'token' | 'page' | 'time'>[];
}

interface DocumentOfAccount {
  type: 'InvoiceIssued' | 'CreditNoteIssued';
  number: number;
  event_id: string;
  /** UTC ISO-8601. */
  time: string;
  total_cents: number;
  /** Of an invoice. */
  covers: string | null;
  period_start: string | null;
  /** Of a credit note. */
  invoice_number: number | null;
  reference: string | null;
  actor: Actor;
}

export const recordLimits = {
  periods: 24,
  downloads: 10,
  documents: 60,
  corrections: 10,
  notices: 10,
  access_records: 10,
} as const;

export async function readAccountRecord(client: Queryable, accountId: string): Promise<AccountRecord> {
  const listOf = (name: keyof AccountRecord, row: string, from: string, order: string) =>
    `(select coalesce(json_agg(row), '[]') from (
       select ${row} as row from ${from} order by ${order} limit ${String(recordLimits[name])}) newest) as ${name}`;
  const ofAccount = (alias: string) =>
    `${alias}.account_id = $1 order by ${alias}.time desc, ${alias}.event_id desc limit ${String(recordLimits.notices)}`;
  const parts = [
    listOf(
      'periods',
      `json_build_object(${['period_start', 'stream', 'plan', 'phase', ...moneyCounts]
        .map((column) => `'${column}', p.${column}`)
        .join(', ')})`,
      'period_money p where p.account_id = $1',
      'p.period_start desc',
    ),
    listOf('downloads', 'to_jsonb(j)', 'jobs j where j.account_id = $1', 'j.queued_at desc, j.token desc'),
    listOf(
      'documents',
      `json_build_object('type', i.type, 'number', i.number, 'event_id', i.event_id, 'time', i.time, 'total_cents', i.total_cents,
         'covers', i.covers, 'period_start', i.period_start, 'invoice_number', (i.data->>'invoice_number')::int,
         'reference', i.data->>'reference', 'actor', i.actor)`,
      'invoices i where i.account_id = $1',
      'i.revision desc',
    ),
    listOf('corrections', correctionJsonSql('c'), 'corrections c where c.account_id = $1', 'c.position desc'),
    listOf(
      'notices',
      `json_build_object('kind', n.kind, 'event_id', n.event_id, 'time', n.time, 'pool', n.pool,
         'threshold_percent', n.threshold_percent, 'limited_key_id', n.limited_key_id, 'document', n.document, 'waiting', n.waiting)`,
      `(${noticesSql(ofAccount)}) n`,
      'n.time desc, n.event_id desc',
    ),
    listOf(
      'access_records',
      `json_build_object('event_id', l.event_id, 'staff_id', l.staff_id, 'token', l.token, 'page', l.page, 'time', l.time)`,
      'staff_looks l where l.account_id = $1',
      'l.position desc',
    ),
  ];
  type Row = Omit<AccountRecord, 'corrections'> & { corrections: CorrectionJson[] };
  const { rows } = await client.query<Row>(`select ${parts.join(',\n')}`, [accountId]);
  const row = onlyRow(rows);
  return {
    periods: row.periods.map((each) => withInstants(each, 'period_start')),
    downloads: row.downloads.map(jobFromJson),
    documents: row.documents.map((each) => withInstants(each, 'time', 'period_start')),
    corrections: row.corrections.map(correctionFromJson),
    notices: row.notices.map((each) => withInstants(each, 'time')),
    access_records: row.access_records.map((each) => withInstants(each, 'time')),
  };
}
