import type { InvoiceLine } from '../../src/domain/invoice-events.ts';
import type { LineItem } from '../../src/domain/line-items.ts';
import type { Queryable } from '../runner/rows.ts';

type CountedLine = Extract<InvoiceLine, { kind: 'overage' | 'waivers' | 'waiver' }>;

/** The read models do not have all events behind a line: they are behind the log, or somebody has changed them. */
export class ItemsMissing extends Error {
  override readonly name = 'ItemsMissing';
}

/**
 * The charges or waivers behind a line, each with its download: from `overage_ledger` and `jobs`, because a month of a busy
 * account is too long to be read for each page. They must come to what the line says.
 *
 * @throws {ItemsMissing}
 */
export async function readLineItems(client: Queryable, line: CountedLine): Promise<LineItem[]> {
  const isCharge = line.kind === 'overage';
  const { stream, from, to, quantity } = placeOf(line);
  const rate = line.kind === 'waiver' ? [null, null] : [line.rate_cents, line.rate_version];
  const { rows } = await client.query<LineItem>(
    `select l.event_id, l.revision::float8, l.time, l.token, j.platform, j.video_id, l.reference, l.cents::float8,
       case when l.type = 'ChargeWaived' then coalesce(l.actor->>'reason', 'failure of the service') end as reason
     from overage_ledger l
     join overage_ledger c on c.event_id = coalesce(l.corrects, l.event_id)
     join jobs j on j.token = l.token
     where l.stream = $1 and l.revision between $2 and $3 and l.type = $4
       and ($5::bigint is null or (c.rate_cents, c.rate_version) = ($5, $6))
       and not exists (select from overage_ledger v where v.stream = $1 and v.type = 'DownloadVoided' and v.corrects = c.event_id)
     order by l.revision`,
    [stream, from, to, isCharge ? 'OverageCharged' : 'ChargeWaived', ...rate],
  );
  const cents = rows.reduce((sum, row) => sum + row.cents, 0);
  if (rows.length !== quantity || cents !== line.cents) {
    const found = `${String(rows.length)} over ${String(cents)} cents`;
    throw new ItemsMissing(
      `a line of ${stream} has ${String(quantity)} events over ${String(line.cents)} cents, and the read models have ${found}`,
    );
  }
  return rows;
}

/** From the first event of a line to its last. */
function placeOf(line: CountedLine): { stream: string; from: number; to: number; quantity: number } {
  if (line.kind === 'waiver') {
    const { stream, revision } = line.event;
    return { stream, from: revision, to: revision, quantity: 1 };
  }
  const { stream, revisions, quantity } = line;
  return { stream, from: revisions[0]?.[0] ?? 0, to: revisions.at(-1)?.[1] ?? 0, quantity };
}
