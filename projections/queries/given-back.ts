import type { CorrectionStatus } from '../../src/domain/correction-requests.ts';
import type { Actor } from '../../src/domain/parse-event.ts';
import type { Queryable } from '../runner/rows.ts';

/**
 * Everything that was given back after it was charged, whoever did it: waivers and returned credits of the ledger, and credit
 * notes. One made in the console comes with its correction: who approved it.
 */
export interface GivenBack {
  /** Commit position in the log, in digits; a cursor too. */
  position: string;
  type: 'ChargeWaived' | 'DownloadCreditReturned' | 'CreditNoteIssued';
  event_id: string;
  account_id: string;
  /** The download; null for a credit note about a whole line or about several charges. */
  token: string | null;
  /** How many charges it names; 0 for a credit note about a whole line. */
  charges: number;
  /** The credit note; null for a correction of the ledger. */
  number: number | null;
  /** UTC ISO-8601. */
  time: string;
  /** 0 for a credit. */
  cents: number;
  reference: string | null;
  /** Who did it, in which role and why. */
  actor: Actor;
  correction: GivenBackBy | null;
}

interface GivenBackBy {
  correction_id: string;
  status: CorrectionStatus;
  needs_approval: boolean;
  /** Who approved it. */
  decided_by: Actor | null;
}

/** The newest first, in one statement. @param before a position: only older ones */
export async function listGivenBack(
  client: Queryable,
  { accountId, before, limit }: { accountId?: string | undefined; before?: string | undefined; limit: number },
): Promise<GivenBack[]> {
  const where = (alias: string) =>
    `${accountId === undefined ? '' : `and ${alias}.account_id = $3`} and ${alias}.position < coalesce($1::numeric, 'infinity')
     order by ${alias}.position desc limit $2`;
  const { rows } = await client.query<GivenBack>(
    `select g.position::text, g.type, g.event_id, g.account_id, g.token, g.charges, g.number, g.time, g.cents::float8, g.reference, g.actor,
            c.correction
     from (
       (select l.position, l.type, l.event_id, l.account_id, l.token, 1 as charges, null::int as number, l.time, -l.cents as cents,
               l.reference, l.actor
        from overage_ledger l where l.type in ('ChargeWaived', 'DownloadCreditReturned') ${where('l')})
       union all
       (select i.position, i.type, i.event_id, i.account_id,
               case json_array_length(i.data->'charges') when 1 then i.data->'charges'->0->>'token' end,
               json_array_length(i.data->'charges'), i.number, i.time,
               i.total_cents, i.data->>'reference', i.actor
        from invoices i where i.type = 'CreditNoteIssued' ${where('i')})
       order by position desc limit $2
     ) g
     left join lateral (
       select json_build_object('correction_id', c.correction_id, 'status', c.status, 'needs_approval', c.needs_approval,
                                'decided_by', c.decided_by) as correction
       from corrections c
       where c.reference = g.reference and c.account_id = g.account_id and c.asked_by = g.actor::jsonb
         and c.status in ('permitted', 'made')
       order by c.position desc limit 1
     ) c on true
     order by g.position desc`,
    [before ?? null, limit, ...(accountId === undefined ? [] : [accountId])],
  );
  return rows;
}
