import type { FastifyReply } from 'fastify';
import { type ApiKeyRow, listApiKeys } from '../../../../projections/api-keys.ts';
import type { JobRow } from '../../../../projections/jobs.ts';
import {
  type DownloadFilter,
  listAccountDownloads,
  readDownloadFacts,
} from '../../../../projections/queries/account-downloads.ts';
import { html } from '../../../documents/html.ts';
import { exportedDownloads } from '../../download-export.ts';
import {
  downloadList,
  filterForm,
  filterOf,
  type Filters,
  type ListPlace,
  perPage,
  readCursor,
  readFilters,
} from '../../download-list.ts';
import { exportAnswer } from '../../export.ts';
import { filterNote, sentFilters } from '../../form-fields.ts';
import { followDownloads } from '../../live/live-downloads.ts';
import { type Answer, type OwnerVisit, page, PageRefusal } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** The downloads of the account, the newest first, by filters that stand in the address. */

const placeOf = ({ samplePlatformOrigin }: ConsoleDependencies): ListPlace => ({
  list: '/console/downloads',
  download: '/console/downloads/',
  platforms: { samplePlatformOrigin },
});

const filterIn = (filters: Filters, keys: readonly ApiKeyRow[], dependencies: ConsoleDependencies): DownloadFilter =>
  filterOf(filters, { ...placeOf(dependencies), keys, isToken: (text) => dependencies.tokens.verify(text) });

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { pool, macs } = dependencies;
  const { accountId } = visit.session;
  const place = placeOf(dependencies);
  if (visit.refused) {
    const form = filterForm(sentFilters(visit), await listApiKeys(pool, { accountId, macs }), place);
    return page({ title: 'Downloads', section: 'downloads', content: html`${filterNote(visit)} ${form}` });
  }
  const filters = readFilters(visit.query);
  const keys = await listApiKeys(pool, { accountId, macs });
  const downloads = await listAccountDownloads(pool, {
    accountId,
    filter: filterIn(filters, keys, dependencies),
    after: readCursor(visit.query.get('after')),
    before: readCursor(visit.query.get('before')),
    limit: perPage,
  });
  const tokens = downloads.downloads.map(({ token }) => token);
  const about = await readDownloadFacts(pool, { accountId, tokens });
  return page({
    title: 'Downloads',
    section: 'downloads',
    islands: ['live'],
    content: html`${filterForm(filters, keys, place)}
    ${downloadList(downloads, keys, { ...place, query: visit.query, none, about })}`,
  });
}

/** The whole list that the filters leave. */
export async function saveCsv(
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const { pool, macs } = dependencies;
  const { accountId } = visit.session;
  const filters = readFilters(visit.query);
  const keys = await listApiKeys(pool, { accountId, macs });
  const filter = filterIn(filters, keys, dependencies);
  const exported = exportedDownloads(pool, { accountId, filter, keys });
  return await exportAnswer('csv', dependencies, { reply, ...visit }, exported);
}

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
