import {
  type AccountChange,
  type ChangeKind,
  changeKinds,
  readAccountHistory,
} from '../../projections/queries/account-history.ts';
import { readAccount } from '../commands/accounts.ts';
import { type PastUsage, readPastUsage } from '../commands/usage/usage-in-the-past.ts';
import { type AccountNames, changeText } from '../documents/account-history.ts';
import { type Content, type Html, html } from '../documents/html.ts';
import type { Account } from '../domain/account.ts';
import type { Actor } from '../domain/parse-event.ts';
import { planName, type PlanNames } from '../domain/plans.ts';
import { termsAt } from '../domain/usage-periods.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import { choiceField } from './form-fields.ts';
import { count, empty, listTable, money, rowName, time } from './parts.ts';
import type { SharedDependencies } from './site.ts';
import { badInput } from './visit.ts';

/** What has changed in an account, who changed it and when, and what stood after it: the page of both consoles. */

const perPage = 100;
/** Of usage streams, for what stood after the changes of one page: decision 75. */
const mostEventsPerPage = 10_000;

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

/** `after`: the usage directly after the change; for people alone, no decision starts from it. */
type ChangeRow = AccountChange & { after: Awaited<ReturnType<typeof readPastUsage>>[number] };

export interface History {
  changes: readonly ChangeRow[];
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
  const moments = changes.map(({ position, metadata }) => ({ position, time: metadata.time }));
  const after = account.opened
    ? await readPastUsage(dependencies.store, account.opened, moments, { mostEvents: mostEventsPerPage })
    : [];
  return {
    changes: changes.map((change, index) => ({ ...change, after: after[index] ?? 'before_opening' })),
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
    'Plan and cap': ({ after }) => typeof after === 'object' && planAndCap(after, planNames),
    Credits: ({ after }) => (after === 'not_read' ? 'not shown' : typeof after === 'object' && creditsText(after)),
    Overage: ({ after }) => typeof after === 'object' && overageText(after),
    Event: eventOf,
  })}
  ${changes.some(({ after }) => after === 'not_read') && html`<p class="hint">What stood after a change is not shown where more than ${count(mostEventsPerPage)} events would have to be read for it.</p>`}
  ${next !== null && html`<p class="pages"><a href="${path}?before=${next}${kind === undefined ? '' : `&kind=${kind}`}" rel="next">Older changes</a></p>`}`;
}

function planAndCap({ usage, now }: PastUsage, planNames: PlanNames): string {
  const { plan, overage_cap_cents: capCents } = termsAt(usage, now);
  return `${planName(plan, planNames)}, ${capCents === null ? 'no cap' : `cap ${money(capCents)}`}`;
}

function creditsText({ usage, now }: PastUsage): string {
  const { used, limit, remaining } = summariseUsage(usage, now).downloads;
  return `${count(used)} of ${count(limit)} used, ${count(remaining)} left`;
}

function overageText({ usage, now }: PastUsage): string {
  const { downloads, cents } = summariseUsage(usage, now).overage;
  return downloads === 0 && cents === 0 ? 'none' : `${money(cents)} for ${count(downloads)}`;
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
