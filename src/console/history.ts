import {
  type AccountChange,
  type ChangeKind,
  changeKinds,
  readAccountHistory,
} from '../../projections/queries/account-history.ts';
import { readAccount } from '../commands/accounts.ts';
import { type AccountNames, changeText } from '../documents/account-history.ts';
import { type Content, type Html, html } from '../documents/html.ts';
import type { Account } from '../domain/account.ts';
import type { Actor } from '../domain/parse-event.ts';
import { planName, type PlanNames } from '../domain/plans.ts';
import { choiceField } from './form-fields.ts';
import { empty, listTable, rowName, time } from './parts.ts';
import type { SharedDependencies } from './site.ts';
import { badInput } from './visit.ts';

/** What has changed in an account, who changed it and when: the page of both consoles. */

const perPage = 100;

const kindNames: Readonly<Record<ChangeKind, string>> = {
  account: 'The account itself',
  terms: 'Plan, terms and cap',
  keys: 'API keys and their limits',
  people: 'People',
  sign_ins: 'Sign-ins',
  billing: 'Billing details',
  corrections: 'Corrections',
  mails: 'Mails asked for again',
};

export interface History {
  changes: readonly AccountChange[];
  account: Account;
  /** By the ids of their events, as people name them. */
  documents: ReadonlyMap<string, string>;
  kind: ChangeKind | undefined;
  /** Where the page after this one begins; null on the last one. */
  next: string | null;
}

/** @param query `kind`, and `before` of a page before this one @throws {PageRefusal} for any other value */
export async function readHistory(
  dependencies: Pick<SharedDependencies, 'pool' | 'store'>,
  accountId: string,
  query: URLSearchParams,
): Promise<History> {
  const before = query.get('before');
  if (before !== null && !/^\d{1,19}$/.test(before)) throw badInput('This page of the history does not exist.');
  const wanted = query.get('kind') ?? '';
  const kind = changeKinds.find((each) => each === wanted);
  if (wanted !== '' && kind === undefined)
    throw badInput(`There is no kind of change that is called ${wanted}. Choose one of the list.`);
  const place = { before: before === null ? undefined : BigInt(before), kind, limit: perPage + 1 };
  const [account, { changes: found, documents }] = await Promise.all([
    readAccount(dependencies.store, accountId),
    readAccountHistory(dependencies, accountId, place),
  ]);
  const changes = found.slice(0, perPage);
  return {
    changes,
    account,
    documents,
    kind,
    next: found.length > perPage ? String(changes.at(-1)?.position ?? '') : null,
  };
}

interface Place {
  path: string;
  /** Who has caused a change, as readers of this page may know it. */
  by: (actor: Actor, names: AccountNames) => Content;
  eventOf: (change: AccountChange) => Content;
  planNames: PlanNames;
}

export function historyPage(
  { changes, account, documents, kind, next }: History,
  { path, by, eventOf, planNames }: Place,
): Html {
  const names = namesOf(account, { documents, planNames });
  const none = empty(html`<p>Nothing of that kind has changed.</p>`);
  return html`${historyFilter(path, kind)}
  ${listTable({ name: 'Changes, the newest first', none }, changes, {
    Time: ({ metadata }) => time(metadata.time),
    Change: rowName(({ event }) => changeText(event, names)),
    By: ({ metadata }) => by(metadata.actor, names),
    Event: eventOf,
  })}
  ${next !== null && html`<p class="pages"><a href="${path}?before=${next}${kind === undefined ? '' : `&kind=${kind}`}" rel="next">Older changes</a></p>`}`;
}

/** @param kind as it was sent, good or not */
export const historyFilter = (path: string, kind: string | undefined): Html =>
  html`<form method="get" action="${path}" class="filters">
    ${choiceField('Show', 'kind', kind, [['', 'Everything'], ...changeKinds.map((each) => [each, kindNames[each]] as const)])}
    <button class="second">Show</button>
  </form>`;

/** Names of keys and people that are gone stay known. */
function namesOf(
  { keys, people }: Account,
  { documents, planNames }: Pick<History, 'documents'> & Pick<Place, 'planNames'>,
): AccountNames {
  return {
    key: (keyId) => {
      const key = keys.get(keyId);
      if (!key) return keyId;
      return key.label === '' ? `${key.keyPrefix}…` : `${key.label} (${key.keyPrefix}…)`;
    },
    person: (personId) => people.get(personId)?.email ?? personId,
    plan: (plan) => planName(plan, planNames),
    document: (eventId) => documents.get(eventId) ?? eventId,
  };
}
