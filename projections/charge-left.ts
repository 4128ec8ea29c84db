import { asText, type Queryable } from './runner/rows.ts';

/** What is left of the charge of a download, for everybody who polls it: from `overage_ledger` and `invoices`. */
export interface ChargeLeft {
  /** Credits of the allowance that it holds: 1; or 0 for overage, and for a credit that was given back. */
  credits: number;
  /** Cents of its overage charge that were given back, by voids, waivers and credit notes about it. */
  given_back_cents: number;
}

/** The select list of `chargeLeftFromText`. */
export const chargeLeftColumns = ['charge_left.credits', 'charge_left.given_back_cents'];

/**
 * Stands behind a table of jobs in a query, one row for each job. Nearly no download has a correction, and the index has the others
 * alone: then it is one look into a small index.
 *
 * @param alias of the table in the query
 */
export const chargeLeftJoin = (alias: string): string => `
cross join lateral (
  select case when ${alias}.overage or corrections.number > 0 then 0 else 1 end as credits,
    corrections.cents + coalesce((
      select sum(i.total_cents) from invoices i
      where ${alias}.overage and i.type = 'CreditNoteIssued' and i.data->>'charge_event_id' = (
        -- The charge stands directly before its download.
        select c.event_id::text from overage_ledger c
        where c.stream = ${alias}.usage_stream and c.revision = ${alias}.usage_revision - 1)
    ), 0) as given_back_cents
  from (
    select count(*) as number, -coalesce(sum(l.cents), 0) as cents from overage_ledger l
    where l.token = ${alias}.token and l.corrects is not null
  ) corrections
) charge_left`;

/** @param values as Postgres writes them, in the order of `chargeLeftColumns` */
export const chargeLeftFromText = ([credits, givenBackCents]: readonly (string | null)[]): ChargeLeft => ({
  credits: Number(credits),
  given_back_cents: Number(givenBackCents),
});

/** What is left of the charges of some downloads, by their tokens. */
export async function listChargesLeft(
  client: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, ChargeLeft>> {
  const { rows } = await client.query<string[]>({
    text: `select j.token, ${chargeLeftColumns.join(', ')} from jobs j ${chargeLeftJoin('j')} where j.token = any($1)`,
    values: [tokens],
    rowMode: 'array',
    types: asText,
  });
  return new Map(rows.map(([token = '', ...values]) => [token, chargeLeftFromText(values)]));
}
