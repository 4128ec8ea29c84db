import { parseVideoUrl } from '../../src/domain/parse-video-url.ts';
import type { PlatformConfiguration } from '../../src/domain/platforms/platforms.ts';
import { readTimeline } from '../job-timeline.ts';
import { jobFromJson, type JobRow, readJob } from '../jobs.ts';
import { type Bind, bindings, equalities, type Queryable } from '../runner/rows.ts';

/** Queries for the pages of an account's owner: rows of `jobs`, never those of another account. */

/** The one thing that somebody looks for. A `videoId` without a platform may as well be a part of a title. */
export type DownloadSearch = { token: string } | { videoId: string; platform?: string } | { url: string };

/** @param isToken whether this installation has drawn a token */
export function downloadSearchOf(
  text: string,
  { isToken, ...platforms }: PlatformConfiguration & { isToken: (text: string) => boolean },
): DownloadSearch {
  if (isToken(text)) return { token: text };
  const parsed = parseVideoUrl(text, platforms);
  if (parsed.ok && parsed.video !== undefined) {
    const { platform, videoId } = parsed.video;
    return { platform, videoId };
  }
  // The address of a platform that is not served any more, perhaps.
  return /^https?:\/\//i.test(text) ? { url: text } : { videoId: text };
}

export interface DownloadFilter {
  status?: JobRow['status'];
  platform?: string;
  format?: JobRow['format'];
  overage?: boolean;
  /** API key of the request. */
  keyId?: string;
  /** One of these. */
  keyIds?: readonly string[];
  /** Queued at this instant or later, and before that one; UTC ISO-8601. */
  from?: string;
  to?: string;
  search?: DownloadSearch;
}

/** A place between two downloads of an account. */
export interface DownloadCursor {
  /** UTC ISO-8601. */
  queuedAt: string;
  token: string;
}

export type DownloadPage = ReturnType<typeof pageOf>;

interface PageWanted {
  accountId: string;
  filter?: DownloadFilter;
  /** Only older downloads; or only newer ones, those next to the cursor. Default: the newest. */
  after?: DownloadCursor | undefined;
  before?: DownloadCursor | undefined;
  limit: number;
  /** The most downloads that a page looks through. */
  maxLooked?: number;
}

/**
 * The work for a page is bounded: a filter without an index of its own costs at most 10 000 rows, and where it matches less than
 * a page of them, the page says how far it has come.
 */
const maxLookedDefault = 10_000;

/** A page of an account's downloads, in one statement. */
export async function listAccountDownloads(
  client: Queryable,
  { accountId, filter = {}, after, before, limit, maxLooked = maxLookedDefault }: PageWanted,
): Promise<DownloadPage> {
  const { values, bind: of } = bindings();
  const direction = before ? 'asc' : 'desc';
  const order = `queued_at ${direction}, token ${direction}`;
  // One match more shows that there is another page. The row at which the search ends comes along, whether it matches or not.
  const { rows } = await client.query<Looked>(
    `select to_jsonb(l.j) as job, matches, is_last
     from (
       select j, queued_at, token, ${matchSql(filter, of)} as matches,
              row_number() over (order by ${order}) = ${of(maxLooked)} as is_last
       from jobs j where ${rangeSql({ accountId, filter, after, before }, of)}
       order by ${order} limit ${of(maxLooked)}
     ) l
     where matches or is_last order by ${order} limit ${of(limit + 1)}`,
    values,
  );
  return pageOf(rows, { limit, isReversed: before !== undefined });
}

interface Looked {
  job: JobRow;
  /** Null for a row that does not know the column. */
  matches: boolean | null;
  /** Nothing behind this row was looked at. */
  is_last: boolean;
}

function pageOf(rows: readonly Looked[], { limit, isReversed }: { limit: number; isReversed: boolean }) {
  const looked = rows.map((row) => ({ ...row, job: jobFromJson(row.job) }));
  const matching = looked.filter(({ matches }) => matches);
  const downloads = matching.slice(0, limit).map(({ job }) => job);
  const isFull = matching.length > limit;
  const lastLooked = isFull ? undefined : looked.find(({ is_last: isLast }) => isLast)?.job;
  const end = isFull ? downloads.at(-1) : lastLooked;
  const next: DownloadCursor | undefined = end && { queuedAt: end.queued_at, token: end.token };
  return {
    /** The newest first. */
    downloads: isReversed ? downloads.toReversed() : downloads,
    /** The place from which another page goes on in the same direction; undefined at the end of the account's downloads. */
    next,
    /**
     * The time up to which downloads were looked through, if there are more and the page is not full: its matches are rare.
     * UTC ISO-8601.
     */
    lookedTo: lastLooked?.queued_at,
  };
}

/** Where the search begins and ends, which the index `jobs_of_account` knows. */
function rangeSql(
  { accountId, filter, after, before }: Pick<PageWanted, 'accountId' | 'after' | 'before'> & { filter: DownloadFilter },
  of: Bind,
): string {
  const { from, to, search } = filter;
  const place = ({ queuedAt, token }: DownloadCursor) => `(${of(queuedAt)}::timestamptz, ${of(token)})`;
  return [
    `account_id = ${of(accountId)}`,
    ...(after ? [`(queued_at, token) < ${place(after)}`] : []),
    ...(before ? [`(queued_at, token) > ${place(before)}`] : []),
    ...(from === undefined ? [] : [`queued_at >= ${of(from)}`]),
    ...(to === undefined ? [] : [`queued_at < ${of(to)}`]),
    // One row, by the primary key.
    ...(search && 'token' in search ? [`token = ${of(search.token)}`] : []),
  ].join(' and ');
}

/** What each row is asked. */
function matchSql({ status, platform, format, overage, keyId, keyIds, search }: DownloadFilter, of: Bind): string {
  const wanted = { status, platform, format, overage, key_id: keyId };
  const ofKeys = keyIds ? [`key_id = any(${of(keyIds)}::text[])`] : [];
  return [...equalities(wanted, of), ...ofKeys, ...searchSql(search, of)].join(' and ') || 'true';
}

function searchSql(search: DownloadSearch | undefined, of: Bind): string[] {
  if (search === undefined || 'token' in search) return [];
  if ('url' in search) return equalities({ url: search.url }, of);
  const { platform, videoId } = search;
  if (platform !== undefined) return equalities({ platform, video_id: videoId }, of);
  // No index: like the other filters, it costs as many rows as a page looks through.
  const text = of(videoId);
  return [`(video_id = ${text} or strpos(lower(title), lower(${text})) > 0)`];
}

export type AccountDownload = NonNullable<Awaited<ReturnType<typeof readAccountDownload>>>;

/**
 * @returns undefined for a token of another account, as for one that nobody knows; timeline: its events in the order of the log,
 *   which may be a moment behind the download, or ahead of it
 */
export async function readAccountDownload(
  client: Queryable,
  { accountId, token }: { accountId: string; token: string },
) {
  const download = await readJob(client, token);
  if (download?.account_id !== accountId) return undefined;
  return { download, timeline: await readTimeline(client, token) };
}

/** What a list says of a download beside its row. */
export interface DownloadFacts {
  /** What was given back of its charge: before the close, and by credit notes. */
  givenBackCents: number;
  /** Whether the credit that it took is given back, if it took one. */
  isCreditReturned: boolean;
  /** Whether its request came with an API key and an Idempotency-Key. */
  hasIdempotencyKey: boolean;
  /** When the request was first sent again, and answered with this download; null if it was not. UTC ISO-8601. */
  repeatedAt: string | null;
}

/** Of an account's downloads, by their tokens; nothing of one that the read models do not know yet. */
export async function readDownloadFacts(
  client: Queryable,
  { accountId, tokens }: { accountId: string; tokens: readonly string[] },
): Promise<ReadonlyMap<string, DownloadFacts>> {
  const { rows } = await client.query<{ token: string } & DownloadFacts>(
    `select f.token, sum(f.cents)::float8 as "givenBackCents", bool_or(f.is_returned) as "isCreditReturned",
            bool_or(f.is_keyed) as "hasIdempotencyKey", min(f.repeated_at) as "repeatedAt"
     from (
       select t.token, greatest(-t.cents, 0) as cents, t.type in ('DownloadVoided', 'DownloadCreditReturned') as is_returned,
              t.data->>'idempotency' is not null and t.actor->>'type' = 'api_key' as is_keyed,
              case t.type when 'DownloadConfirmed' then t.time end as repeated_at
       from job_timeline t
       where t.token = any($2::text[])
         and (t.cents < 0 or t.type in ('DownloadQueued', 'DownloadConfirmed', 'DownloadVoided', 'DownloadCreditReturned'))
       union all
       select c->>'token', (c->>'cents')::int, false, false, null
       from invoices i, json_array_elements(i.data->'charges') c
       where i.account_id = $1 and i.type = 'CreditNoteIssued' and c->>'token' = any($2::text[])
     ) f group by f.token`,
    [accountId, [...tokens]],
  );
  return new Map(rows.map(({ token, ...about }) => [token, about]));
}
