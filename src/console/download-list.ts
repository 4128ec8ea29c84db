import { z } from 'zod';
import type { ApiKeyRow } from '../../projections/api-keys.ts';
import type { JobRow } from '../../projections/jobs.ts';
import {
  type DownloadCursor,
  type DownloadFacts,
  type DownloadFilter,
  type DownloadPage,
  downloadSearchOf,
} from '../../projections/queries/account-downloads.ts';
import { type Columns, type Html, html, numberCell } from '../documents/html.ts';
import { jobStatuses } from '../domain/download-job.ts';
import { formats } from '../domain/download-options.ts';
import { failureReasons } from '../domain/failure-reasons.ts';
import { type PlatformConfiguration, platformNames } from '../domain/platforms/platforms.ts';
import { type Choice, choiceField } from './form-fields.ts';
import { isUnfinished } from './live/live-downloads.ts';
import { count, empty, money, note, statusTag, time, timeToTheSecond } from './parts.ts';
import { summedTable, sumOf } from './summed-table.ts';
import { badInput } from './visit.ts';

/** Lists of an account's downloads, the newest first, by filters that stand in the address: for its owner, and for staff. */

export const perPage = 50;

/** Postgres has no year 0. */
const hasYear = (text: string) => !text.startsWith('0000');
const calendarDay = z.iso
  .date('a day such as 2026-11-24 is expected')
  .refine(hasYear, 'the year 0001 is the first one')
  .optional();
const ofList = 'choose one of the list';
const filterFields = z.object({
  search: z.string().max(2_048, 'at most 2048 characters are expected').optional(),
  status: z.enum(jobStatuses, ofList).optional(),
  platform: z.string().max(40, ofList).optional(),
  format: z.enum(formats, ofList).optional(),
  overage: z.enum(['yes', 'no'], ofList).optional(),
  key: z.string().max(60, ofList).optional(),
  from: calendarDay,
  to: calendarDay,
});
export type Filters = z.infer<typeof filterFields>;
const labels: Readonly<Record<keyof Filters, string>> = {
  search: 'Search',
  status: 'State',
  platform: 'Platform',
  format: 'Format',
  overage: 'Beyond the plan',
  key: 'API key',
  from: 'From',
  to: 'Before',
};
/** As they were sent, good or not. */
type SentFilters = Partial<Record<keyof Filters, string | undefined>>;

/** Where a list stands. */
export interface ListPlace {
  /** Address of the list. */
  list: string;
  /** Address of a download, before its token. */
  download: string;
  platforms: PlatformConfiguration;
}

/** @throws {PageRefusal} naming every field at fault by its label */
export function readFilters(query: URLSearchParams): Filters {
  const given = Object.fromEntries(
    [...query].filter(([, value]) => value.trim() !== '').map(([name, value]) => [name, value.trim()]),
  );
  const read = filterFields.safeParse(given);
  if (!read.success) {
    const said = read.error.issues.map(
      ({ path: [field], message }) => `${labels[field as keyof Filters]}: ${message}.`,
    );
    throw badInput(said.join(' '));
  }
  const { from, to } = read.data;
  if (from !== undefined && to !== undefined && to <= from)
    throw badInput(`${labels.to} must be later than ${labels.from}.`);
  return read.data;
}

/** The keys of which people know the beginning; undefined for a text that is none. */
function keyIdsOf(text: string, keys: readonly ApiKeyRow[]): string[] | undefined {
  if (!text.startsWith('rtk_')) return undefined;
  const begun = text.replace(/…$/, '');
  return keys.filter((key) => key.key_prefix.startsWith(begun)).map(({ key_id: id }) => id);
}

/** @param isToken whether this installation has drawn a token; keys: those of the account */
export function filterOf(
  { search, status, platform, format, overage, key, from, to }: Filters,
  {
    platforms: configured,
    isToken,
    keys,
  }: { platforms: PlatformConfiguration; isToken: (text: string) => boolean; keys: readonly ApiKeyRow[] },
): DownloadFilter {
  const keyIds = search === undefined ? undefined : keyIdsOf(search, keys);
  return {
    ...(keyIds && { keyIds }),
    ...(search !== undefined && !keyIds && { search: downloadSearchOf(search, { ...configured, isToken }) }),
    ...(status && { status }),
    ...(platform !== undefined && { platform }),
    ...(format && { format }),
    ...(overage && { overage: overage === 'yes' }),
    ...(key !== undefined && { keyId: key }),
    ...(from !== undefined && { from: `${from}T00:00:00.000Z` }),
    ...(to !== undefined && { to: `${to}T00:00:00.000Z` }),
  };
}

const cursorText = ({ queuedAt, token }: DownloadCursor) => `${queuedAt}~${token}`;

export function readCursor(text: string | null): DownloadCursor | undefined {
  if (text === null) return undefined;
  const [queuedAt = '', token = ''] = text.split('~');
  if (!z.iso.datetime().refine(hasYear).safeParse(queuedAt).success || token.length > 100)
    throw badInput('This page does not exist. Begin with the newest downloads.');
  return { queuedAt, token };
}

/** @param more a field before the others */
export function filterForm(
  filters: SentFilters,
  keys: readonly ApiKeyRow[],
  { list, platforms: configured, more }: ListPlace & { more?: Html },
): Html {
  const names = platformNames(configured).sort();
  const choice = (name: keyof Filters, values: readonly Choice[]) =>
    choiceField(labels[name], name, filters[name], [['', 'any'], ...values]);
  return html`<form method="get" action="${list}" class="filters" role="search">
    ${more}
    <label
      >${labels.search}
      <input
        type="search"
        name="search"
        value="${filters.search ?? ''}"
        placeholder="token, address, video id, title or beginning of a key"
        maxlength="2048"
    /></label>
    ${choice('status', jobStatuses)} ${choice('platform', names)} ${choice('format', formats)}
    ${choice('overage', ['yes', 'no'])}
    ${choice(
      'key',
      keys.map((key) => [key.key_id, keyName(key)]),
    )}
    <label>${labels.from} (UTC) <input type="date" name="from" value="${filters.from ?? ''}" /></label>
    <label>${labels.to} (UTC) <input type="date" name="to" value="${filters.to ?? ''}" /></label>
    <button class="second">Filter</button>
    ${Object.keys(filters).length > 0 && html`<a href="${list}">All downloads</a>`}
  </form>`;
}

/** A key by its label, and by the beginning that people have. */
export const keyName = ({ key_prefix: prefix, label }: Pick<ApiKeyRow, 'key_prefix' | 'label'>): string =>
  label === '' ? prefix : `${label} (${prefix})`;

/** @param none what stands in the place of an account's first downloads; about: by the tokens of the downloads */
export function downloadList(
  { downloads, next, lookedTo }: DownloadPage,
  keys: readonly ApiKeyRow[],
  { query, none, about, ...place }: ListPlace & { query: URLSearchParams; none: Html; about: AboutDownloads },
): Html {
  const addressOf = (after: string | undefined) => addressWith(place.list, query, after);
  const goOn =
    next &&
    html`<a rel="next" href="${addressOf(cursorText(next))}"
      >${lookedTo === undefined ? 'Older downloads' : 'Look further back'}</a
    >`;
  const looked = lookedTo !== undefined && note('info', html`Looked through the downloads back to ${time(lookedTo)}.`);
  if (downloads.length === 0) {
    const isFiltered = [...query.keys()].length > 0;
    return html`${looked}
    ${empty(isFiltered ? html`<p>No download matches. <a href="${place.list}">Show all downloads</a></p>` : none)}
    ${goOn && html`<p>${goOn}</p>`}`;
  }
  const columns = columnsOf(keys, { about, ...place });
  const isWhole = next === undefined && !query.has('after') && !query.has('before');
  return html`<p class="pages">
      <a href="${addressWith(`${place.list}.csv`, query, undefined)}" download>All of these downloads as CSV</a>
    </p>
    ${summedTable({ name: 'Downloads' }, downloads, columns, { isWhole, sums: { Cost: sumText(downloads, about) } })}
    ${looked}
    <p class="pages">${query.has('after') && html`<a href="${addressOf(undefined)}">Newest</a>`} ${goOn}</p>`;
}

function addressWith(list: string, query: URLSearchParams, after: string | undefined): string {
  const changed = new URLSearchParams(
    [...query].filter(([name, value]) => value !== '' && name !== 'after' && name !== 'before'),
  );
  if (after !== undefined) changed.set('after', after);
  return `${list}?${changed.toString()}`;
}

function columnsOf(
  keys: readonly ApiKeyRow[],
  { download, about }: ListPlace & { about: AboutDownloads },
): Columns<JobRow> {
  const names = new Map(keys.map((key) => [key.key_id, keyName(key)]));
  return {
    Queued: (job) => timeToTheSecond(job.queued_at),
    Video: (job) =>
      html`${videoCell(job, `${download}${job.token}`)}
        <div class="soft typed">${job.url}</div>
        <code>${job.token}</code>`,
    Format: ({ format, quality }) => (format === 'video' ? html`video <span class="soft">${quality}</span>` : format),
    State: {
      attributes: (job) => isUnfinished(job) && html`data-live="${job.token}"`,
      content: (job) => statusTag(job.status),
    },
    'API key': ({ key_id: id, token }) =>
      html`${id !== null && (names.get(id) ?? id)}
      ${
        about.get(token)?.hasIdempotencyKey === true &&
        html`<div class="soft">
          with an Idempotency-Key${about.get(token)?.repeatedAt !== null && ', and sent again'}
        </div>`
      }`,
    Cost: numberCell(
      (job) =>
        html`${costText(job)}${
          givenBackOf(job, about) > 0 && html`<div class="soft">${money(givenBackOf(job, about))} given back</div>`
        }${isCreditReturned(job, about) && html`<div class="soft">given back</div>`}`,
    ),
  };
}

type AboutDownloads = ReadonlyMap<string, DownloadFacts>;

const givenBackOf = ({ token }: JobRow, about: AboutDownloads): number => about.get(token)?.givenBackCents ?? 0;

const isCreditReturned = ({ token, overage }: JobRow, about: AboutDownloads): boolean =>
  !overage && about.get(token)?.isCreditReturned === true;

/** What downloads cost together, without credits that were given back, and what was given back of the cents. */
function sumText(downloads: readonly JobRow[], about: AboutDownloads): Html {
  const credits = downloads.filter((job) => !job.overage && !isCreditReturned(job, about)).length;
  const cents = sumOf(downloads, (job) => (job.overage ? (job.cents ?? 0) : 0));
  const givenBack = sumOf(downloads, (job) => givenBackOf(job, about));
  return html`${count(credits)} ${credits === 1 ? 'credit' : 'credits'}
    <div>${money(cents)}</div>
    ${givenBack > 0 && html`<div class="soft">${money(givenBack)} given back</div>`}`;
}

type Named = Pick<JobRow, 'title' | 'platform' | 'video_id'>;

/** What people call a download: the title of its video, or its id where there is none. */
export const downloadName = ({ title, platform, video_id: id }: Named): string => title ?? `${platform} ${id}`;

/** How the request of a download was sent. @param repeatedAt when it was first sent again, UTC ISO-8601; null if it was not */
export const idempotencyText = (repeatedAt: string | null): Html =>
  repeatedAt === null
    ? html`with an Idempotency-Key: sent again with it, it gets the same answer and is charged once`
    : html`with an Idempotency-Key; a repeat was answered with this download, and not charged again, on
      ${time(repeatedAt)}`;

/** The video of a download with a link to its page, and why it has failed. */
export const videoCell = (job: Named & Pick<JobRow, 'failure_reason'>, path: string): Html =>
  html`<a data-row href="${path}">${downloadName(job)}</a>
    ${job.failure_reason !== null && html`<div class="soft">${failureReasons[job.failure_reason].message}</div>`}`;

/** The charge of a download, before what may have been given back of it. */
export const costText = ({ cents, overage }: Pick<JobRow, 'cents' | 'overage'>): string => {
  if (!overage) return '1 credit';
  return cents === null ? 'overage' : money(cents);
};
