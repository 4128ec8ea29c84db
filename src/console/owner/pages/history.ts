import type { AccountNames } from '../../../documents/account-history.ts';
import { html } from '../../../documents/html.ts';
import type { Actor } from '../../../domain/parse-event.ts';
import { historyPage, readHistory } from '../../history.ts';
import { type Answer, type OwnerVisit, page } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** What has changed in the account, and by whom. */

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const history = await readHistory(dependencies, visit.session.accountId, visit.query);
  return page({
    title: 'History',
    section: 'settings',
    content: historyPage(history, {
      path: '/console/history',
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
