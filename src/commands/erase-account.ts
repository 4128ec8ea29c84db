import { decideAccount } from '../domain/account.ts';
import { accountStream } from '../domain/account-events.ts';
import { documentsUntil } from '../domain/document-retention.ts';
import { invoicesStream } from '../domain/invoice-events.ts';
import { type Actor, parseInvoiceEvent } from '../domain/parse-event.ts';
import { isRefused, refuse, type Refused } from '../domain/refusals.ts';
import type { Erasures } from '../ports/erasures.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { AccountRequest } from './accounts.ts';
import { accountAggregate } from './handler/account-aggregate.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { handle } from './handler/handle-command.ts';

export interface EraseAccountDependencies extends CommandDependencies {
  erasures: Erasures;
  /** How long documents show whom they were for, after the end of the year of the newest. 0: not at all. */
  documentRetentionYears: number;
}

interface Erasing extends AccountRequest {
  accountId: string;
  actor: Extract<Actor, { type: 'staff' | 'system' }>;
}

export interface ErasedAccount {
  erasedAt: string;
  /** As in `AccountErased`. */
  documentsUntil: string | null;
  /** False: it was erased before. */
  changed: boolean;
  /** Events of older versions, whose personal data stands in the log in the clear: no key protects it. */
  eventsInClear: number;
}

/**
 * Erases the personal data of a closed account: an event says so, for good, and then its keys are deleted. The event is the truth.
 * A crash between the two leaves the keys to the dispatcher (`erase-personal-data.ts`), which also deletes that of the documents
 * in its time, and whatever an older backup of Postgres brings back. Repeated, it completes what is missing.
 *
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function eraseAccount(
  { store, now, newUuid, erasures, documentRetentionYears }: EraseAccountDependencies,
  { accountId, actor, correlationId, timeoutMs }: Erasing,
): Promise<ErasedAccount | Refused<'account_not_found' | 'account_not_closed' | 'periods_not_invoiced'>> {
  const newest = await newestDocument(store, accountId);
  const command = {
    kind: 'erase_account',
    accountId,
    documentsUntil: documentsUntil(newest, documentRetentionYears),
  } as const;
  const areBooksDone = await erasures.areBooksDone(accountId);
  const handled = await handle(store, accountAggregate(accountId), {
    decide: (state, time) => {
      const events = decideAccount(state, command, time);
      return isRefused(events) || events.length === 0 || areBooksDone ? events : refuse('periods_not_invoiced');
    },
    cause: ownCause(newUuid(), actor, correlationId),
    now,
    timeoutMs,
  });
  if (isRefused(handled))
    return handled as Refused<'account_not_found' | 'account_not_closed' | 'periods_not_invoiced'>;
  const erased = await readErasure(store, accountId);
  const { documentsUntil: until } = erased;
  await erasures.deleteAccount(accountId, { withDocuments: until === null || until <= now() });
  return { ...erased, changed: handled.events.length > 0 };
}

/** The time of an account's newest invoice or credit note; null: it has none. */
async function newestDocument(store: EventStore, accountId: string): Promise<string | null> {
  const events = (await store.read(invoicesStream(accountId), 0)).map(parseInvoiceEvent);
  const newest = events.findLast(({ event: { type } }) => type === 'InvoiceIssued' || type === 'CreditNoteIssued');
  return newest?.metadata.time ?? null;
}

async function readErasure(store: EventStore, accountId: string): Promise<Omit<ErasedAccount, 'changed'>> {
  const recorded = await store.read(accountStream(accountId), 0);
  const { parse } = accountAggregate(accountId);
  const inClear = recorded.filter(({ data, stored }) => {
    const { personal = null } = data as { personal?: unknown };
    return personal !== null && stored === undefined;
  });
  for (const { event, metadata } of recorded.map(parse)) {
    if (event.type !== 'AccountErased') continue;
    const { documents_until: until } = event.data;
    return { erasedAt: metadata.time, documentsUntil: until, eventsInClear: inClear.length };
  }
  throw new Error(`account ${accountId} was erased and is not`);
}
