import { z } from 'zod';
import { listApiKeys } from '../../../../projections/api-keys.ts';
import { listAccountDownloads, readGivenBackOf } from '../../../../projections/queries/account-downloads.ts';
import { type Html, html } from '../../../documents/html.ts';
import { accountIdPattern } from '../../../domain/account-events.ts';
import { downloadList, filterForm, filterOf, perPage, readCursor, readFilters } from '../../download-list.ts';
import { type Answer, badInput, missing, page, type StaffVisit } from '../../visit.ts';
import { accountLink, accountPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { type AccessRecord, seeAs } from '../view.ts';

/** The downloads of an account, by the filters of its owner's page, or around a time that somebody names. */

/** Somebody who complains knows the time within half an hour. */
const aroundMs = 30 * 60_000;

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const accountId = visit.params['account'] ?? '';
  if (!accountIdPattern.test(accountId)) throw missing();
  const { samplePlatformOrigin } = dependencies;
  const list = `${accountPath(accountId)}/downloads`;
  const place = { list, download: '/staff/downloads/', platforms: { samplePlatformOrigin } };
  const { search: _, ...filters } = readFilters(visit.query);
  const moment = readMoment(visit.query.get('at'));
  const filter = filterOf(filters, { ...place, isToken: () => false });
  const view = {
    input: z.object({}),
    read: async ({ pool }: StaffDependencies) => {
      const downloads = await listAccountDownloads(pool, {
        accountId,
        limit: perPage,
        filter:
          moment === undefined ? filter : { ...filter, to: new Date(Date.parse(moment) + aroundMs).toISOString() },
        after: readCursor(visit.query.get('after')),
        before: readCursor(visit.query.get('before')),
      });
      const tokens = downloads.downloads.map(({ token }) => token);
      const givenBack = await readGivenBackOf(pool, { accountId, tokens });
      return { downloads, givenBack, keys: await listApiKeys(pool, accountId) };
    },
    accessRecords: (): AccessRecord[] => [{ accountId, token: null, page: 'downloads' }],
  };
  const { downloads, givenBack, keys } = await seeAs(visit, view, dependencies);
  const first = momentField(moment?.slice(0, 16) ?? '');
  return page({
    title: 'Downloads',
    section: 'search',
    content: html`<p>
        Account ${accountLink(accountId)}${moment !== undefined && ': its downloads around that time and before it'}
      </p>
      ${filterForm(filters, keys, { ...place, first })}
      ${downloadList(downloads, keys, { ...place, query: visit.query, givenBack, none: html`<p>No download yet.</p>` })}`,
  });
}

/** @param value UTC, as browsers write it: 2026-11-24T10:15 */
export const momentField = (value: string): Html =>
  html`<label>At about (UTC) <input type="datetime-local" name="at" value="${value}" /></label>`;

/** @returns UTC ISO-8601 */
function readMoment(text: string | null): string | undefined {
  if (text === null || text.trim() === '') return undefined;
  const instant = `${text.trim().slice(0, 16)}:00.000Z`;
  if (!z.iso.datetime().safeParse(instant).success || instant.startsWith('0000'))
    throw badInput('at: is a time such as 2026-11-24T10:15. Go back and change it.');
  return instant;
}
