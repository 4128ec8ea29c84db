import type { PoolClient } from 'pg';
import { type AccountEvent, accountStream } from '../src/domain/account-events.ts';
import { noDetails } from '../src/domain/billing-details.ts';
import { parseAccountEvent, type ParsedEvent } from '../src/domain/parse-event.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import type { ProjectionTools } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/**
 * What staff call an account: table `customers`, a part of the read model `people`. The name is that of its invoices, or the address
 * that it was opened with. Only this installation can read it. Once the account is erased, it is its id.
 */
export async function applyToCustomers(
  events: readonly ParsedEvent<AccountEvent>[],
  { client, macs, store }: ProjectionTools & { client: PoolClient },
): Promise<void> {
  const rows = new Map<string, Row>();
  for (const { event } of events) {
    const { account_id } = event.data;
    if (event.type === 'AccountOpened')
      rows.set(account_id, { account_id, customer: macs.encrypt(event.data.personal?.email ?? account_id), words: [] });
    if (event.type === 'AccountErased')
      rows.set(account_id, { account_id, customer: macs.encrypt(account_id), words: [] });
    if (event.type === 'BillingDetailsChanged') {
      const { name, tax_id: taxId } = event.data.personal ?? noDetails;
      const customer = macs.encrypt(name ?? (await readOpener(store, account_id)));
      const words = [...(name === null ? [] : beginningsIn(name)), ...(taxId === null ? [] : [taxWord(taxId)])];
      rows.set(account_id, { account_id, customer, words: words.map((word) => macs.sign('customers', word)) });
    }
  }
  await upsertRows(client, 'customers', { key: ['account_id'], rows: [...rows.values()] });
}

interface Row {
  account_id: string;
  customer: string;
  words: string[];
}

/** The address that an account was opened with. */
async function readOpener(store: ProjectionTools['store'], accountId: string): Promise<string> {
  const [first] = await store.read(accountStream(accountId), 0, 1);
  const opened = first && parseAccountEvent(first).event;
  return opened?.type === 'AccountOpened' ? (opened.data.personal?.email ?? accountId) : accountId;
}

const shortestBeginning = 2;
const longestBeginning = 20;
/** A name has 200 characters; further words find nothing. */
const mostWords = 12;

/** Words as they are compared: without accents and capital letters. */
const wordsIn = (text: string): string[] =>
  (
    text
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
    .map((word) => word.slice(0, longestBeginning))
    .slice(0, mostWords);

/** The beginnings of each word, and the whole of a shorter one. */
function beginningsIn(name: string): string[] {
  const all = wordsIn(name).flatMap((word) =>
    Array.from({ length: Math.max(1, word.length - shortestBeginning + 1) }, (_, more) =>
      word.slice(0, shortestBeginning + more),
    ),
  );
  return [...new Set(all)].map(nameWord);
}

const nameWord = (word: string) => `name ${word}`;
const taxWord = (taxId: string) => `tax ID ${taxId.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '')}`;

/**
 * The sets of MACs by which a part of a name finds customers: a row has to have one of each set. Each word may be a beginning.
 *
 * @returns none for a text without words
 */
export const macsOfName = (macs: RowMacs, text: string): string[][] =>
  wordsIn(text).map((word) => macs.signUnderEach('customers', nameWord(word)));

/** The MACs of a tax ID, however it is spelled. */
export const macsOfTaxId = (macs: RowMacs, text: string): string[] => macs.signUnderEach('customers', taxWord(text));

/** Names of accounts, by their ids, in one statement. An account that the read model does not know yet has none. */
export async function readCustomers(
  client: Queryable,
  { accountIds, macs }: { accountIds: readonly string[]; macs: Pick<RowMacs, 'decrypt'> },
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ account_id: string; customer: string }>(
    'select account_id, customer from customers where account_id = any($1)',
    [accountIds],
  );
  return new Map(
    rows.flatMap(({ account_id: accountId, customer }) => {
      const name = macs.decrypt(customer);
      return name === undefined ? [] : [[accountId, name] as const];
    }),
  );
}
