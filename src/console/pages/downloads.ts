import { z } from 'zod';
import { downloadSearchOf, listAccountDownloads } from '../../../projections/account-downloads.ts';
import type { DownloadCursor, DownloadFilter, DownloadPage } from '../../../projections/account-downloads.ts';
import { listApiKeys } from '../../../projections/api-keys.ts';
import type { ApiKeyRow } from '../../../projections/api-keys.ts';
import type { JobRow } from '../../../projections/jobs.ts';
import type { FastifyReply } from 'fastify';
import { html } from '../../documents/html.ts';
import type { Html } from '../../documents/html.ts';
import { jobStatuses } from '../../domain/download-job.ts';
import { formats } from '../../domain/download-options.ts';
import { failureReasons } from '../../domain/failure-reasons.ts';
import { configuredPlatforms, platforms } from '../../domain/platforms/platforms.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { empty, money, note, number, numberHead, option, statusTag, time, wideTable } from '../parts.ts';
import { badInput, page, Refusal } from '../visit.ts';
import type { Answer, OwnerVisit } from '../visit.ts';

/** The downloads of the account, the newest first, by filters that stand in the address. */

const perPage = 50;

/** Postgres has no year 0. */
const hasYear = (text: string) => !text.startsWith('0000');
const calendarDay = z.iso.date('is a day such as 2026-11-24').refine(hasYear, 'is too early').optional();
const filterFields = z.object({
  search: z.string().max(2_048, 'is too long').optional(),
  status: z.enum(jobStatuses).optional(),
  platform: z.string().max(40).optional(),
  format: z.enum(formats).optional(),
  overage: z.enum(['yes', 'no']).optional(),
  key: z.string().max(60).optional(),
  from: calendarDay,
  to: calendarDay,
});
type Filters = z.infer<typeof filterFields>;

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { pool } = dependencies;
  const { accountId } = visit.session;
  const filters = readFilters(visit.query);
  const [downloads, keys] = await Promise.all([
    listAccountDownloads(pool, {
      accountId,
      filter: filterOf(filters, dependencies),
      after: readCursor(visit.query.get('after')),
      before: readCursor(visit.query.get('before')),
      limit: perPage,
    }),
    listApiKeys(pool, accountId),
  ]);
  return page({
    title: 'Downloads',
    section: 'downloads',
    islands: ['live'],
    content: html`${filterForm(filters, keys, dependencies)} ${list(downloads, keys, visit.query)}`,
  });
}

/** @throws {Refusal} naming the field at fault */
function readFilters(query: URLSearchParams): Filters {
  const given = Object.fromEntries(
    [...query].filter(([, value]) => value.trim() !== '').map(([name, value]) => [name, value.trim()]),
  );
  const read = filterFields.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw badInput(`${String(issue?.path[0])}: ${issue?.message ?? 'cannot be used'}. Go back and change it.`);
}

function filterOf(filters: Filters, { tokens, samplePlatformOrigin }: ConsoleDependencies): DownloadFilter {
  const { search, status, platform, format, overage, key, from, to } = filters;
  return {
    ...(search !== undefined && {
      search: downloadSearchOf(search, { samplePlatformOrigin, isToken: (text) => tokens.verify(text) }),
    }),
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

function readCursor(text: string | null): DownloadCursor | undefined {
  if (text === null) return undefined;
  const [queuedAt = '', token = ''] = text.split('~');
  if (!z.iso.datetime().refine(hasYear).safeParse(queuedAt).success || token.length > 100)
    throw badInput('This page does not exist. Begin with the newest downloads.');
  return { queuedAt, token };
}

function filterForm(filters: Filters, keys: readonly ApiKeyRow[], { samplePlatformOrigin }: ConsoleDependencies): Html {
  const names = [...platforms, ...configuredPlatforms({ samplePlatformOrigin })].map(({ name }) => name).sort();
  const choice = (name: keyof Filters, label: string, values: readonly (readonly [string, string])[]) =>
    html`<label
      >${label}
      <select name="${name}">
        ${option('', 'any', filters[name] ?? '')}
        ${values.map(([value, text]) => option(value, text, filters[name] ?? ''))}
      </select></label
    >`;
  return html`<form method="get" action="/console/downloads" class="filters" role="search">
    <label
      >Search
      <input
        type="search"
        name="search"
        value="${filters.search ?? ''}"
        placeholder="token, address or video id"
        maxlength="2048"
    /></label>
    ${choice(
      'status',
      'State',
      jobStatuses.map((status) => [status, status]),
    )}
    ${choice(
      'platform',
      'Platform',
      names.map((name) => [name, name]),
    )}
    ${choice(
      'format',
      'Format',
      formats.map((format) => [format, format]),
    )}
    ${choice('overage', 'Beyond the plan', [
      ['yes', 'yes'],
      ['no', 'no'],
    ])}
    ${choice(
      'key',
      'API key',
      keys.map(({ key_id: id, key_prefix: prefix, label }) => [id, label === '' ? prefix : `${label} (${prefix})`]),
    )}
    <label>From (UTC) <input type="date" name="from" value="${filters.from ?? ''}" /></label>
    <label>Before (UTC) <input type="date" name="to" value="${filters.to ?? ''}" /></label>
    <button class="second">Filter</button>
    ${Object.keys(filters).length > 0 && html`<a href="/console/downloads">All downloads</a>`}
  </form>`;
}

function list({ downloads, next, lookedTo }: DownloadPage, keys: readonly ApiKeyRow[], query: URLSearchParams): Html {
  const goOn =
    next &&
    html`<a rel="next" href="${addressWith(query, cursorText(next))}"
      >${lookedTo === undefined ? 'Older downloads' : 'Look further back'}</a
    >`;
  const looked = lookedTo !== undefined && note('info', html`Looked through the downloads back to ${time(lookedTo)}.`);
  if (downloads.length === 0) {
    const isFiltered = [...query.keys()].length > 0;
    return html`${looked}
      ${empty(
        isFiltered
          ? html`<p>No download matches. <a href="/console/downloads">Show all downloads</a></p>`
          : html`<p>
              No download yet. <a href="/console/try">Try one</a>, or <a href="/console/keys">issue a key</a> for a
              program.
            </p>`,
      )}
      <p>${goOn}</p>`;
  }
  const labels = new Map(keys.map(({ key_id: id, key_prefix: prefix, label }) => [id, label === '' ? prefix : label]));
  const rows = downloads.map((download) => row(download, labels));
  const heads = ['Queued', 'Video', 'Format', 'State', 'API key', numberHead('Cost')];
  return html`${wideTable('Downloads', heads, rows)} ${looked}
    <p class="pages">${query.has('after') && html`<a href="${addressWith(query, undefined)}">Newest</a>`} ${goOn}</p>`;
}

function addressWith(query: URLSearchParams, after: string | undefined): string {
  const changed = new URLSearchParams(
    [...query].filter(([name, value]) => value !== '' && name !== 'after' && name !== 'before'),
  );
  if (after !== undefined) changed.set('after', after);
  return `/console/downloads?${changed.toString()}`;
}

function row(download: JobRow, labels: ReadonlyMap<string, string>): Html {
  const { token, status, queued_at: queuedAt, platform, video_id: videoId, format, quality, key_id: keyId } = download;
  const isLive = status !== 'done' && status !== 'failed';
  const reason = download.failure_reason;
  return html`<tr>
    <td>${time(queuedAt)}</td>
    <td>
      <a data-row href="/console/downloads/${token}">${platform} ${videoId}</a>
      ${reason !== null && html`<div class="soft">${failureReasons[reason].message}</div>`}
    </td>
    <td>${format}${format === 'video' && html` <span class="soft">${quality}</span>`}</td>
    <td ${isLive && html`data-live="${token}"`}>${statusTag(status)}</td>
    <td>${keyId === null ? '' : (labels.get(keyId) ?? keyId)}</td>
    ${number(costText(download))}
  </tr>`;
}

/** The charge of a download, before what may have been given back of it. */
export const costText = ({ cents, overage }: Pick<JobRow, 'cents' | 'overage'>): string => {
  if (!overage) return '1 credit';
  return cents === null ? 'overage' : money(cents);
};

const maxFollowed = 60;

/** How the downloads of a page go on, as server-sent events. */
export async function follow(
  visit: OwnerVisit,
  { pool, live }: ConsoleDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const { accountId } = visit.session;
  const tokens = visit.query.getAll('token').slice(0, maxFollowed);
  const { rows } = await pool.query<Pick<JobRow, 'token' | 'status'>>(
    'select token, status from jobs where account_id = $1 and token = any($2)',
    [accountId, tokens],
  );
  if (!live.follow(reply, { accountId, known: rows }))
    throw new Refusal(503, 'Too many live pages', 'Reload the page to see how downloads go on.');
  return { kind: 'handled' };
}
