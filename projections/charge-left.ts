import { asText, type Queryable } from './runner/rows.ts';

/** What is left of the charge of a download, for everybody who polls it: from `overage_ledger` and `invoices`. */
export interface ChargeLeft {
  /** Credits of the allowance that it holds: 1; or 0 for overage, and for a credit that was given back. */
  credits: number;
  /**
   * Cents of its overage charge that were given back, by voids, waivers and credit notes that name it. A note about a line as a
   * whole gives back a sum: nobody has said of which of its charges.
   */
  given_back_cents: number;
}

/**
 * The select list of `chargeLeftFromText`. A credit costs one look into an index that holds corrections alone, of which nearly no
 * download has one; a row without a job costs none.
 *
 * @param alias of the table of jobs in the query
 */
export const chargeLeftColumns = (alias: string): string[] => [
  // "exists" may be answered by a hash of all corrections.
  `case when ${alias}.overage then 0 when ${alias}.token is not null then coalesce((
     select 0 from overage_ledger l where l.token = ${alias}.token and l.corrects is not null limit 1
   ), 1) end as credits`,
  `case when ${alias}.overage then (
     select -coalesce(sum(l.cents), 0) from overage_ledger l where l.token = ${alias}.token and l.corrects is not null
   ) + (
     -- Of the notes that name the download, only its own part.
     select coalesce(sum((c->>'cents')::bigint), 0) from invoices i, json_array_elements(i.data->'charges') c
     where i.type = 'CreditNoteIssued'
       and (i.data::jsonb -> 'charges') @> jsonb_build_array(jsonb_build_object('token', ${alias}.token))
       and c->>'token' = ${alias}.token
   ) else 0 end as given_back_cents`,
];

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
    text: `select j.token, ${chargeLeftColumns('j').join(', ')} from jobs j where j.token = any($1)`,
    values: [tokens],
    rowMode: 'array',
    types: asText,
  });
  return new Map(rows.map(([token = '', ...values]) => [token, chargeLeftFromText(values)]));
}
