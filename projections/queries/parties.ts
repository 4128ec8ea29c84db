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
  /** The account's owner. The address is the one that the account was opened with; null if there is no such account. */
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
  const [ofAccount, ofIssuer] = await Promise.all([
    store.read(accountStream(accountId), 0),
    store.read(issuerStream, 0),
  ]);
  const account = ofAccount.map(parseAccountEvent);
  const issuers = ofIssuer.map(parseIssuerEvent);
  const opened = account.map(({ event }) => event).find((event) => event.type === 'AccountOpened');
  const billed = account.flatMap(({ event, position }) =>
    event.type === 'BillingDetailsChanged' ? [{ details: event.data.personal, position }] : [],
  );
  return (position) => {
    const isBefore = (other: { position: bigint }) => other.position < position;
    const details = billed.findLast(isBefore)?.details ?? noDetails;
    return {
      issuer: issuers.findLast(isBefore)?.event.data ?? issuerBySetting(issuerName),
      billedTo: { ...details, email: opened?.data.personal.email ?? null },
    };
  };
}
