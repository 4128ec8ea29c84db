import type { Actor } from '../../src/domain/parse-event.ts';
import type { AccessRecord } from '../access-records.ts';
import { type ApiKeyRow, type LabelReader, withLabel } from '../api-keys.ts';
import { correctionFromJson, type CorrectionJson, correctionJsonSql, type CorrectionRow } from '../corrections.ts';
import { readTimeline, type TimelineRow } from '../job-timeline.ts';
import { type JobRow, readJob } from '../jobs.ts';
import { onlyRow, type Queryable, withInstants } from '../runner/rows.ts';

/** Everything about one download, whosever it is: what happened to it, what was given back, and who has looked. */
export interface DownloadRecord {
  download: JobRow;
  /** Its events in the order of the log. The timeline may be a moment behind the download, or ahead of it. */
  timeline: TimelineRow[];
  /** The oldest first. */
  corrections: CorrectionRow[];
  credit_notes: ChargeCredited[];
  /** The API key of its request, if that is known. */
  api_key: Pick<ApiKeyRow, 'key_prefix' | 'label'> | null;
  /** The newest first, at most `maxLooks`. */
  access_records: Pick<AccessRecord, 'event_id' | 'staff_id' | 'page' | 'time'>[];
  /** Overage of the whole billing period directly after each of its corrections, by their event ids, as far as it is known. */
  period_after: Readonly<Record<string, number>>;
}

/** A credit note about the charge of a download. */
interface ChargeCredited {
  event_id: string;
  number: number;
  invoice_number: number;
  /** Of this charge; the note may be about others too. */
  cents: number;
  reference: string;
  /** UTC ISO-8601. */
  time: string;
  actor: Actor;
}

const maxCorrections = 50;
export const maxAccessRecords = 20;

/** In three statements. @returns undefined for a token that the read model does not know */
export async function readDownloadRecord(
  client: Queryable,
  { token, macs }: { token: string; macs: LabelReader },
): Promise<DownloadRecord | undefined> {
  const download = await readJob(client, token);
  if (!download) return undefined;
  const timeline = await readTimeline(client, token);
  const corrected = timeline.flatMap(({ cents, event_id: id }) => (cents !== null && cents < 0 ? [id] : []));
  const { rows } = await client.query<Around>(
    `select
       (select coalesce(json_agg(${correctionJsonSql('c')} order by c.position), '[]') from (
          select * from corrections where account_id = $2
            and correction->'charges' @> jsonb_build_array(jsonb_build_object('token', $1::text))
          order by position desc limit ${String(maxCorrections)}
        ) c) as corrections,
       (select coalesce(json_agg(json_build_object(
                 'event_id', i.event_id, 'number', i.number, 'invoice_number', (i.data->>'invoice_number')::int,
                 'cents', (c->>'cents')::int, 'reference', i.data->>'reference', 'time', i.time, 'actor', i.actor)
                 order by i.position), '[]')
        from invoices i, json_array_elements(i.data->'charges') c
        where i.account_id = $2 and i.type = 'CreditNoteIssued' and c->>'token' = $1) as credit_notes,
       (select coalesce(json_agg(json_build_object(
                 'event_id', event_id, 'staff_id', staff_id, 'page', page, 'time', time) order by position desc), '[]') from (
          select * from staff_looks where token = $1 order by position desc limit ${String(maxAccessRecords)}
        ) l) as access_records,
       (select json_build_object('key_prefix', key_prefix, 'label', label) from api_keys where key_id = $4) as api_key,
       (select coalesce(json_object_agg(event_id, cents), '{}') from (${periodAfterSql}) p) as period_after`,
    [token, download.account_id, corrected, download.key_id],
  );
  const around = onlyRow(rows);
  return {
    download,
    timeline,
    corrections: around.corrections.map(correctionFromJson),
    credit_notes: around.credit_notes.map((each) => withInstants(each, 'time')),
    access_records: around.access_records.map((each) => withInstants(each, 'time')),
    api_key: around.api_key && withLabel(around.api_key, macs),
    period_after: around.period_after,
  };
}

type Around = Omit<DownloadRecord, 'download' | 'timeline' | 'corrections'> & { corrections: CorrectionJson[] };

/** From the newest charge before a correction, which knows the total after it, and the corrections from there on. */
const periodAfterSql = `
  select c.event_id, coalesce(charge.total, 0) + (
           select coalesce(sum(l.cents), 0) from overage_ledger l
           where l.account_id = c.account_id and l.period_start = c.period_start and l.cents < 0
             and l.position > coalesce(charge.position, -1) and l.position <= c.position)::float8 as cents
  from overage_ledger c left join lateral (
    select l.position, (select j.running_cents from jobs j where j.token = l.token)::float8 as total
    from overage_ledger l
    where l.account_id = c.account_id and l.period_start = c.period_start and l.cents > 0
      and l.position < c.position
    order by l.position desc limit 1
  ) charge on true
  where c.event_id = any($3::uuid[]) and (charge.position is null or charge.total is not null)`;
