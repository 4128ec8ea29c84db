import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import { type ParsedEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import { centsOf, type LedgerEvent, type UsageEvent } from '../src/domain/usage-events.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

/**
 * The read model behind `ledger show`: table `overage_ledger`, one row per charge (a credit at 0 cents) or correction. Each is
 * traced to its event.
 */
export const overageLedger: RebuildableProjection = {
  name: 'overage_ledger',
  tables: ['overage_ledger'],
  onlyAdds: true,
  streamPrefixes: ['usage-'],
  start: () => async (events, client) => {
    const rows = events.flatMap((event) => ledgerRow(parseUsageEvent(event)) ?? []);
    await insertRows(client, 'overage_ledger', rows);
  },
};

export type LedgerRow = NonNullable<ReturnType<typeof ledgerRow>>;

/** The row of an event, as JSON; instants are UTC ISO-8601. @returns undefined for an event that charges nothing */
export function ledgerRow({ event, metadata, stream, revision, id, position }: ParsedEvent<UsageEvent>) {
  const cents = centsOf(event);
  if (cents === undefined) return undefined;
  const { type, data } = event as LedgerEvent;
  const { accountId, start } = periodOfUsageStream(stream);
  return {
    event_id: id,
    account_id: accountId,
    period_start: start,
    type,
    /** Token of the download that was charged, or `lookup_id` of the lookup. */
    token: 'token' in data ? data.token : null,
    lookup_id: 'lookup_id' in data ? data.lookup_id : null,
    /** Number of the download, or of the lookup, in its period; null for a correction. */
    ordinal: 'ordinal' in data ? data.ordinal : null,
    stream,
    revision,
    /** Commit position of the log, in digits, because it may exceed the safe integers. */
    position: position.toString(),
    time: metadata.time,
    /** Negative for a correction. */
    cents,
    /** Null for a credit: no rate applied. */
    rate_cents: 'rate_cents' in data ? data.rate_cents : null,
    rate_version: 'rate_version' in data ? data.rate_version : null,
    /** The request that led to the charge. */
    request_id: metadata.$correlationId,
    actor: metadata.actor,
    /** Event id of the corrected charge. */
    corrects: 'charge_event_id' in data ? data.charge_event_id : null,
    /** Case or ticket of a waiver. */
    reference: 'reference' in data ? data.reference : null,
  };
}

/**
 * The charges and corrections of one billing period up to a commit position of the log, in the order of the log.
 *
 * @param after only those beyond this position
 * @param limit at most so many; without it, all
 */
export async function readLedger(
  client: Queryable,
  of: { accountId: string; periodStart: string; after?: bigint; upTo: bigint; limit?: number },
): Promise<LedgerRow[]> {
  const { accountId, periodStart, after = -1n, upTo, limit = null } = of;
  const { rows } = await client.query<LedgerRow>(
    `select event_id, account_id, period_start, type, token, lookup_id, ordinal, stream, revision::float8,
            position::text, time, cents::float8, rate_cents::float8, rate_version, request_id, actor, corrects, reference
     from overage_ledger l
     where account_id = $1 and period_start = $2 and position > $3 and position <= $4 order by l.position limit $5`,
    [accountId, periodStart, after.toString(), upTo.toString(), limit],
  );
  return rows;
}
