import { z } from 'zod';
import { html } from '../../../documents/html.ts';
import { accountIdPattern } from '../../../domain/account-events.ts';
import { filterNote } from '../../form-fields.ts';
import { type History, historyFilter, historyPage, readHistory } from '../../history.ts';
import { actorText } from '../../parts.ts';
import { type Answer, missing, page, type StaffVisit } from '../../visit.ts';
import { accountLink, accountPath, eventPath } from '../addresses.ts';
import type { NamedRow } from '../customers.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs, type View } from '../view.ts';

/** What has changed in an account, by whom, and why: with the event of each change. */

const accountId = z.string().regex(accountIdPattern);

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const id = accountId.safeParse(visit.params['account']).data;
  if (id === undefined) throw missing();
  const path = `${accountPath(id)}/history`;
  if (visit.refused)
    return page({
      title: 'History',
      section: 'search',
      content: html`${filterNote(visit)} ${historyFilter(path, undefined)}`,
    });
  const view: View<object, { history: History; account: NamedRow }> = {
    input: z.object({}),
    read: async (own) => {
      const history = await readHistory(own, id, visit.query);
      if (!history.account.opened) throw missing();
      return { history, account: { account_id: id } };
    },
    named: ({ account }) => [account],
    accessRecords: () => [{ accountId: id, token: null, page: 'history' }],
  };
  const { history, account } = await seeAs(visit, view, dependencies);
  return page({
    title: 'History',
    section: 'search',
    content: html`<p>Account ${accountLink(account)}</p>
      ${historyPage(history, {
        path,
        planNames: dependencies.planNames,
        by: (actor) => html`${actorText(actor)}${actor.type === 'staff' && html`<br />${actor.reason}`}`,
        eventOf: ({ event, revision, stream }) =>
          html`<a data-row href="${eventPath(`${String(revision)}@${stream}`)}">${event.type}</a>`,
      })}`,
  });
}
