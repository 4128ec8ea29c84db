import { type PolledJob, polledJobColumns, polledJobFromText } from '../jobs.ts';
import { asText, type Queryable } from '../runner/rows.ts';

/**
 * The downloads of an account in the order in which they ended: that of the log. Rows become visible in the same order, because one
 * projector writes them, one transaction after the other. So whoever goes on from the last one that he has seen misses none.
 */

/** A place among the ends of an account's downloads. */
export interface EndPlace {
  accountId: string;
  /** Commit position of the log. */
  position: bigint;
}

/** Before every end. */
export const beforeAllEnds = 0n;

/** @returns the first downloads that ended after a place, each with the position of its end */
export async function listEnded(
  client: Queryable,
  { accountId, position, limit }: EndPlace & { limit: number },
): Promise<{ job: PolledJob; position: bigint }[]> {
  const { rows } = await client.query<(string | null)[]>({
    text: `select j.ended_position, ${polledJobColumns('j').join(', ')}
     from (select * from jobs where account_id = $1 and ended_position > $2 order by ended_position limit $3) j
     order by j.ended_position`,
    values: [accountId, String(position), limit],
    rowMode: 'array',
    types: asText,
  });
  return rows.flatMap(([ended, ...values]) => {
    const job = polledJobFromText(values);
    return job && ended ? [{ job, position: BigInt(ended) }] : [];
  });
}

/** A download that has ended, and the position of its end. */
export interface EndedDownload {
  token: string;
  position: bigint;
}

/** The last download that ended before an instant, or the last one of all. @param before UTC ISO-8601 */
export async function readLastEnded(
  client: Queryable,
  { accountId, before = 'infinity' }: { accountId: string; before?: string },
): Promise<EndedDownload | undefined> {
  const { rows } = await client.query<EndedRow>(
    `select token, ended_position::text as position from jobs
     where account_id = $1 and ended_position is not null and finished_at < $2 order by ended_position desc limit 1`,
    [accountId, before],
  );
  return endedOf(rows[0]);
}

/** @returns undefined for a download that has not ended, that nobody knows, or that is of another account */
export async function readEnded(
  client: Queryable,
  { accountId, token }: { accountId: string; token: string },
): Promise<EndedDownload | undefined> {
  const { rows } = await client.query<EndedRow>(
    `select token, ended_position::text as position from jobs
     where token = $1 and account_id = $2 and ended_position is not null`,
    [token, accountId],
  );
  return endedOf(rows[0]);
}

type EndedRow = Record<keyof EndedDownload, string>;

const endedOf = (row: EndedRow | undefined): EndedDownload | undefined =>
  row && { token: row.token, position: BigInt(row.position) };

/** Those of the places after which a download has ended. */
export async function listPlacesPassed(client: Queryable, places: readonly EndPlace[]): Promise<EndPlace[]> {
  const { rows } = await client.query<{ account_id: string; position: string }>(
    // As for jobs that are waited for: an array of thousands would cost more.
    `select account_id, position
     from unnest(string_to_array($1, ','), string_to_array($2, ',')) place (account_id, position)
     where exists (
       select from jobs j where j.account_id = place.account_id and j.ended_position > place.position::numeric)`,
    [places.map(({ accountId }) => accountId).join(), places.map(({ position }) => String(position)).join()],
  );
  return rows.map(({ account_id: accountId, position }) => ({ accountId, position: BigInt(position) }));
}
