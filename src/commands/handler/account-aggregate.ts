import { type Account, evolveAccount, initialAccount } from '../../domain/account.ts';
import { type AccountEvent, accountStream } from '../../domain/account-events.ts';
import { parseAccountEvent } from '../../domain/parse-event.ts';
import { listPeople } from '../../domain/people.ts';
import type { EventStore } from '../../ports/event-store.ts';
import { type Aggregate, load } from './handle-command.ts';

export const accountAggregate = (accountId: string): Aggregate<Account, AccountEvent> => ({
  stream: accountStream(accountId),
  initial: () => initialAccount,
  parse: parseAccountEvent,
  evolve: evolveAccount,
});

/** Everybody who gets a mail about a document that is issued now, by their ids. */
export async function mailRecipients(store: EventStore, accountId: string): Promise<string[]> {
  const { state } = await load(store, accountAggregate(accountId));
  return listPeople(state.people).map(({ personId }) => personId);
}
