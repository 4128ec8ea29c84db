import { accountStream } from '../../src/domain/account-events.ts';
import {
  type BillingDetails,
  issuerBySetting,
  type IssuerDetails,
  noDetails,
} from '../../src/domain/billing-details.ts';
import { issuerStream } from '../../src/domain/issuer-events.ts';
import { parseAccountEvent, parseIssuerEvent } from '../../src/domain/parse-event.ts';
import type { EventStore } from '../../src/ports/event-store.ts';

/** Whoever issues a document, and whoever it is for. */
export interface Parties {
  issuer: IssuerDetails;
  /** The account's owner. The address is the one that the account was opened with; null if it was erased, or there is no such account. */
  billedTo: BillingDetails & { email: string | null };
}

/**
 * Reads names and addresses as they were at any place in the log. By their places, not their times: so nothing that is stored
 * later changes a document, whatever the clocks say.
 *
 * @param issuerName by the settings, for documents from before the issuer's first details
 * @returns the parties of a document, by its commit position
 * @throws {EventStoreUnavailable}
 */
export async function readParties(
  store: Pick<EventStore, 'read'>,
  { accountId, issuerName }: { accountId: string; issuerName: string },
): Promise<(position: bigint) => Parties> {
  const [billedToAt, ofIssuer] = await Promise.all([readBilledTo(store, accountId), store.read(issuerStream, 0)]);
  const issuers = ofIssuer.map(parseIssuerEvent);
  return (position) => ({
    issuer: issuers.findLast((other) => other.position < position)?.event.data ?? issuerBySetting(issuerName),
    billedTo: billedToAt(position),
  });
}

/**
 * The same of an account's owner alone.
 *
 * @throws {EventStoreUnavailable}
 */
export async function readBilledTo(
  store: Pick<EventStore, 'read'>,
  accountId: string,
): Promise<(position: bigint) => Parties['billedTo']> {
  const account = (await store.read(accountStream(accountId), 0)).map(parseAccountEvent);
  const opened = account.map(({ event }) => event).find((event) => event.type === 'AccountOpened');
  const billed = account.flatMap(({ event, position }) =>
    event.type === 'BillingDetailsChanged' ? [{ details: event.data.personal ?? noDetails, position }] : [],
  );
  return (at) => {
    const details = billed.findLast(({ position }) => position < at)?.details ?? noDetails;
    return { ...details, email: opened?.data.personal?.email ?? null };
  };
}
