import type { PoolClient } from 'pg';
import type { AccountEvent } from '../src/domain/account-events.ts';
import { parseAccountEvent, type ParsedEvent } from '../src/domain/parse-event.ts';
import { mailbox, openerOf } from '../src/domain/people.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { applyToCustomers } from './customers.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

/**
 * The read model that finds the accounts of an e-mail address: table `people`, one row per person of an account. The address
 * itself stands in the log alone; a row has MACs of it and of its domain. A row is only a hint: signing in asks the account's stream.
 * Table `customers` has what staff call each account.
 *
 * Apart from `api_keys`, which reads the same streams, for two reasons. With a checkpoint of its own the table fills by itself
 * when it is new, where one added to a read model that has read the log stays empty until a rebuild. And a rebuild of `api_keys`
 * locks rows that admission waits for. The cost is one more row in the statement that moves the checkpoints.
 */
export const people: RebuildableProjection = {
  name: 'people',
  tables: ['people', 'customers'],
  // A row from before there were domains and customers has no `domain_mac`: it makes both anew, while `email_mac` lets people sign in.
  signedTables: { people: 'domain_mac', customers: 'customer' },
  secretColumns: { people: 'email_mac', customers: 'words' },
  streamPrefixes: ['account-'],
  start:
    ({ macs, store }) =>
    async (events, client) => {
      const parsed = events.map(parseAccountEvent);
      const rows = parsed.flatMap((event) => rowOf(event, macs) ?? []);
      await insertRows(client, 'people', rows);
      await markRemoved(parsed, client);
      await eraseAddresses(parsed, client);
      await applyToCustomers(parsed, { client, macs, store });
    },
};

const domainOf = (email: string) => mailbox(email).slice(email.lastIndexOf('@') + 1);

const domainText = (domain: string) => `@${domain.toLowerCase()}`;

/** The MACs by which a domain finds people. */
export const macsOfDomain = (macs: RowMacs, domain: string): string[] =>
  macs.signUnderEach('people', domainText(domain));

const emailMac = (email: string, macs: RowMacs) => macs.sign('people', mailbox(email));

/** No address has it. */
const erasedMac = '';

/** @returns undefined for an event that brings nobody in */
function rowOf({ event: { type, data }, metadata }: ParsedEvent<AccountEvent>, macs: RowMacs): object | undefined {
  if (type !== 'AccountOpened' && type !== 'PersonInvited') return undefined;
  return {
    account_id: data.account_id,
    person_id: type === 'AccountOpened' ? openerOf(data.account_id) : data.person_id,
    since: metadata.time,
    email_mac: data.personal ? emailMac(data.personal.email, macs) : erasedMac,
    domain_mac: data.personal ? macs.sign('people', domainText(domainOf(data.personal.email))) : erasedMac,
  };
}

async function markRemoved(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const removed = events.flatMap(({ event: { type, data }, metadata }) =>
    type === 'PersonRemoved' ? [{ ...data, removed_at: metadata.time }] : [],
  );
  if (removed.length === 0) return;
  await client.query(
    `update people p set removed_at = r.removed_at
     from jsonb_populate_recordset(null::people, $1) r
     where (p.account_id, p.person_id) = (r.account_id, r.person_id)`,
    [JSON.stringify(removed)],
  );
}

/** People of an erased account stay, as removed ones without an address. */
async function eraseAddresses(events: readonly ParsedEvent<AccountEvent>[], client: PoolClient): Promise<void> {
  const erased = events.flatMap(({ event: { type, data }, metadata }) =>
    type === 'AccountErased' ? [{ account_id: data.account_id, erased_at: metadata.time }] : [],
  );
  if (erased.length === 0) return;
  await client.query(
    `update people p set email_mac = $2, domain_mac = $2, removed_at = coalesce(p.removed_at, e.erased_at)
     from jsonb_to_recordset($1) e (account_id text, erased_at timestamptz) where p.account_id = e.account_id`,
    [JSON.stringify(erased), erasedMac],
  );
}

/** A person of an account. `since` is UTC ISO-8601. */
export interface PersonRow {
  account_id: string;
  person_id: string;
  since: string;
}

/**
 * Whom an e-mail address stands for now, in the order of the accounts' ids: one person per account, without removed ones. Rows
 * that were made under an older secret are found too.
 *
 * @param after an account's id: only those after it
 */
export async function listPeopleOfAddress(
  client: Queryable,
  { email, macs, after = '', limit }: { email: string; macs: RowMacs; after?: string; limit: number },
): Promise<PersonRow[]> {
  const { rows } = await client.query<PersonRow>(
    `select account_id, person_id, since from people
     where email_mac = any($1) and removed_at is null and account_id > $2 order by account_id limit $3`,
    [macs.signUnderEach('people', mailbox(email)), after, limit],
  );
  return rows;
}
