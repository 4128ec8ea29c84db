import type { FastifyReply } from 'fastify';
import { listApiKeys } from '../../../../projections/api-keys.ts';
import type { JobRow } from '../../../../projections/jobs.ts';
import { listAccountDownloads, readGivenBackOf } from '../../../../projections/queries/account-downloads.ts';
import { type Html, html } from '../../../documents/html.ts';
import {
  downloadList,
  filterForm,
  filterOf,
  type Filters,
  perPage,
  readCursor,
  readFilters,
} from '../../download-list.ts';
import { followDownloads } from '../../live/live-downloads.ts';
import { type Answer, type OwnerVisit, page, PageRefusal } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** The downloads of the account, the newest first, by filters that stand in the address. */

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { pool, tokens, samplePlatformOrigin } = dependencies;
  const { accountId } = visit.session;
  const filters = readFilters(visit.query);
  const place = { list: '/console/downloads', download: '/console/downloads/', platforms: { samplePlatformOrigin } };
  const [downloads, keys] = await Promise.all([
    listAccountDownloads(pool, {
      accountId,
      filter: filterOf(filters, { ...place, isToken: (text) => tokens.verify(text) }),
      after: readCursor(visit.query.get('after')),
      before: readCursor(visit.query.get('before')),
      limit: perPage,
    }),
    listApiKeys(pool, accountId),
  ]);
  const listed = downloads.downloads.map(({ token }) => token);
  const givenBack = await readGivenBackOf(pool, { accountId, tokens: listed });
  return page({
    title: 'Downloads',
    section: 'downloads',
    islands: ['live'],
    content: html`${filterForm(filters, keys, { ...place, first: searchField(filters) })}
    ${downloadList(downloads, keys, { ...place, query: visit.query, none, givenBack })}`,
  });
}

const searchField = ({ search }: Filters): Html =>
  html`<label
    >Search
    <input
      type="search"
      name="search"
      value="${search ?? ''}"
      placeholder="token, address or video id"
      maxlength="2048"
  /></label>`;

const none = html`<p>
  No download yet. <a href="/console/try">Try one</a>, or <a href="/console/keys">issue a key</a> for a program.
</p>`;

const maxFollowed = 60;

/** How the downloads of a page go on, as server-sent events. */
export async function follow(
  { session: { accountId }, stay, query }: OwnerVisit,
  dependencies: ConsoleDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const tokens = query.getAll('token').slice(0, maxFollowed);
  const { rows } = await dependencies.pool.query<Pick<JobRow, 'token' | 'status'>>(
    'select token, status from jobs where account_id = $1 and token = any($2)',
    [accountId, tokens],
  );
  if (!followDownloads(reply, { accountId, stay, known: rows }, dependencies))
    throw new PageRefusal(503, 'Too many live pages', 'Reload the page to see how downloads go on.');
  return { kind: 'handled' };
}
