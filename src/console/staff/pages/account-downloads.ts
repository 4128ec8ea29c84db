import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type ApiKeyRow, listApiKeys } from '../../../../projections/api-keys.ts';
import {
  type DownloadFilter,
  listAccountDownloads,
  readDownloadFacts,
} from '../../../../projections/queries/account-downloads.ts';
import { type Html, html } from '../../../documents/html.ts';
import { accountIdPattern } from '../../../domain/account-events.ts';
import { jobToken } from '../../../domain/usage-events.ts';
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
import { type Answer, badInput, missing, page, type StaffVisit } from '../../visit.ts';
import { accountLink, accountPath } from '../addresses.ts';
import type { NamedRow } from '../customers.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { type AccessRecord, seeAs } from '../view.ts';

/** The downloads of an account, by the filters of its owner's page, or around a time that somebody names. */

/** Somebody who complains knows the time within half an hour. */
const aroundMs = 30 * 60_000;

interface Given {
  accountId: string;
  filters: Filters;
  filterFor: (keys: readonly ApiKeyRow[]) => DownloadFilter;
  /** UTC ISO-8601. */
  moment: string | undefined;
  place: ListPlace;
}

function readPlace({ params }: StaffVisit, { samplePlatformOrigin }: StaffDependencies) {
  const accountId = params['account'] ?? '';
  if (!accountIdPattern.test(accountId)) throw missing();
  const list = `${accountPath(accountId)}/downloads`;
  return { accountId, place: { list, download: '/staff/downloads/', platforms: { samplePlatformOrigin } } };
}

function readGiven(visit: StaffVisit, dependencies: StaffDependencies): Given {
  const { accountId, place } = readPlace(visit, dependencies);
  const { query } = visit;
  const filters = readFilters(query);
  const moment = readMoment(query.get('at'));
  const until = moment === undefined ? {} : { to: new Date(Date.parse(moment) + aroundMs).toISOString() };
  const isToken = (text: string) => jobToken.safeParse(text).success;
  const filterFor = (keys: readonly ApiKeyRow[]) => ({ ...filterOf(filters, { ...place, keys, isToken }), ...until });
  return { accountId, filters, filterFor, moment, place };
}

const accessRecordsOf = (accountId: string): AccessRecord[] => [{ accountId, token: null, page: 'downloads' }];

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  if (visit.refused) return refusedPage(visit, dependencies);
  const { accountId, filters, filterFor, moment, place } = readGiven(visit, dependencies);
  const view = {
    input: z.object({}),
    read: async ({ pool, macs }: StaffDependencies) => {
      const keys = await listApiKeys(pool, { accountId, macs });
      const downloads = await listAccountDownloads(pool, {
        accountId,
        limit: perPage,
        filter: filterFor(keys),
        after: readCursor(visit.query.get('after')),
        before: readCursor(visit.query.get('before')),
      });
      const tokens = downloads.downloads.map(({ token }) => token);
      const about = await readDownloadFacts(pool, { accountId, tokens });
      const account: NamedRow = { account_id: accountId };
      return { downloads, about, account, keys };
    },
    accessRecords: () => accessRecordsOf(accountId),
    named: ({ account }: { account: NamedRow }) => [account],
  };
  const { downloads, about, account, keys } = await seeAs(visit, view, dependencies);
  const none = html`<p>No download yet.</p>`;
  return page({
    title: 'Downloads',
    section: 'search',
    content: html`<p>
        Account ${accountLink(account)}${moment !== undefined && ': its downloads around that time and before it'}
      </p>
      ${filterForm(filters, keys, { ...place, more: momentField(moment?.slice(0, 16) ?? '') })}
      ${downloadList(downloads, keys, { ...place, query: visit.query, about, none })}`,
  });
}

/** The filters as they were typed. The keys of the account are personal data too. */
async function refusedPage(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { accountId, place } = readPlace(visit, dependencies);
  const keys = await seeKeys(visit, dependencies, accountId);
  const sent = sentFilters(visit);
  return page({
    title: 'Downloads',
    section: 'search',
    content: html`${filterNote(visit)} ${filterForm(sent, keys, { ...place, more: momentField(sent['at'] ?? '') })}`,
  });
}

function seeKeys(visit: StaffVisit, dependencies: StaffDependencies, accountId: string) {
  const view = {
    input: z.object({}),
    read: ({ pool, macs }: StaffDependencies) => listApiKeys(pool, { accountId, macs }),
    accessRecords: () => accessRecordsOf(accountId),
  };
  return seeAs(visit, view, dependencies);
}

/** The whole list that the filters leave. */
export async function saveCsv(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const { accountId, filterFor } = readGiven(visit, dependencies);
  const keys = await seeKeys(visit, dependencies, accountId);
  const exported = exportedDownloads(dependencies.exportPool, { accountId, filter: filterFor(keys), keys });
  return await exportAnswer('csv', dependencies, { reply, ...visit }, exported);
}

/** @param value UTC, as browsers write it: 2026-11-24T10:15 */
export const momentField = (value: string): Html =>
  html`<label>At about (UTC) <input type="datetime-local" name="at" value="${value}" /></label>`;

/** @returns UTC ISO-8601 */
function readMoment(text: string | null): string | undefined {
  if (text === null || text.trim() === '') return undefined;
  const instant = `${text.trim().slice(0, 16)}:00.000Z`;
  if (!z.iso.datetime().safeParse(instant).success || instant.startsWith('0000'))
    throw badInput('At about: a time such as 2026-11-24T10:15 is expected.');
  return instant;
}
