import {
  areSameDetails,
  type Change,
  issuerBySetting,
  type IssuerDetails,
  withChange,
} from '../domain/billing-details.ts';
import { type IssuerEvent, issuerStream } from '../domain/issuer-events.ts';
import { parseIssuerEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { AccountRequest } from './accounts.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, handle, load } from './handler/handle-command.ts';

/** @param name until the first change @returns the issuer's details as they are now */
export async function readIssuer(store: EventStore, name: string): Promise<IssuerDetails> {
  return (await load(store, issuer)).state ?? issuerBySetting(name);
}

/**
 * Changes details of the issuer, which documents that are issued from now on show.
 *
 * @param details those to change, in the form of `issuerDetails`; the others stay
 * @param request name: the issuer's until the first change
 * @returns all of them, as they are now
 */
export async function changeIssuerDetails(
  { store, now, newUuid }: CommandDependencies,
  { name, details, actor, correlationId, timeoutMs }: IssuerChange & AccountRequest,
): Promise<IssuerDetails> {
  const handled = await handle(store, issuer, {
    decide: (state) => {
      // The first one is stored in any case: from then on the setting means nothing.
      const data = withChange(state ?? issuerBySetting(name), details);
      return state && areSameDetails(data, state) ? [] : [{ type: 'IssuerDetailsChanged', data }];
    },
    cause: ownCause(newUuid(), actor, correlationId),
    now,
    timeoutMs,
  });
  if (isRefused(handled)) throw new Error(`the issuer's details were refused: ${handled.refusal}`);
  return handled.state ?? issuerBySetting(name);
}

interface IssuerChange {
  name: string;
  details: Change<IssuerDetails>;
}

const issuer: Aggregate<IssuerDetails | undefined, IssuerEvent> = {
  stream: issuerStream,
  initial: () => undefined,
  parse: parseIssuerEvent,
  evolve: (_details, { data }) => data,
};
