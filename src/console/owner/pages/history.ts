import type { AccountNames } from '../../../documents/account-history.ts';
import { html } from '../../../documents/html.ts';
import type { Actor } from '../../../domain/parse-event.ts';
import { filterNote } from '../../form-fields.ts';
import { historyFilter, historyPage, readHistory } from '../../history.ts';
import { type Answer, type OwnerVisit, page } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** What has changed in the account, and by whom. */

const path = '/console/history';

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  if (visit.refused)
    return page({
      title: 'History',
      section: 'settings',
      content: html`${filterNote(visit)} ${historyFilter(path, undefined)}`,
    });
  const history = await readHistory(dependencies, visit.session.accountId, visit.query);
  return page({
    title: 'History',
    section: 'settings',
    content: historyPage(history, {
      path,
      planNames: dependencies.planNames,
      by,
      eventOf: ({ event, id }) => html`<code title="${id}">${event.type}</code>`,
    }),
  });
}

/** Owners learn neither names nor reasons of staff. */
function by(actor: Actor, names: AccountNames): string {
  switch (actor.type) {
    case 'owner':
      return names.person(actor.id);
    case 'api_key':
      return `the key ${names.key(actor.id)}`;
    case 'staff':
      return 'staff of this service';
    case 'system':
      return 'the service';
  }
}
