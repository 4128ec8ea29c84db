import type { PoolClient } from 'pg';
import { type ParsedEvent, parseStaffEvent } from '../src/domain/parse-event.ts';
import { type StaffEvent, type StaffScope, staffStream } from '../src/domain/staff-events.ts';
import type { EventStore } from '../src/ports/event-store.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { type NotBelieved, notBelieved } from './credits-macs.ts';
import type { ProjectionTools } from './runner/projection.ts';
import { type RefusalColumn, refusalSql, requireNoRefusal } from './runner/refused-readers.ts';
import type { Queryable } from './runner/rows.ts';
import { upsertRows } from './write-rows.ts';

/** Tokens of staff for programs: table `staff_tokens`, a part of the read model `staff`. Instants are UTC ISO-8601. */
export interface StaffToken {
  /** SHA-256 of the token, hexadecimal. */
  token_hash: string;
  token_id: string;
  staff_id: string;
  prefix: string;
  label: string;
  scopes: StaffScope[];
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
}

/** The columns in the order in which the MAC covers them. */
const textOf = ({ token_hash, token_id, staff_id, prefix, label, scopes, ...instants }: StaffToken): string => {
  const { created_at, expires_at, revoked_at } = instants;
  return JSON.stringify({ token_hash, token_id, staff_id, prefix, label, scopes, created_at, expires_at, revoked_at });
};

type Issued = Extract<StaffEvent, { type: 'StaffTokenIssued' }>['data'];

const issuedToken = ({ token_prefix: prefix, personal, ...data }: Issued, created_at: string): StaffToken => ({
  ...data,
  prefix,
  label: personal?.label ?? '',
  created_at,
  revoked_at: null,
});

export async function applyToStaffTokens(
  events: readonly ParsedEvent<StaffEvent>[],
  { client, macs, store }: ProjectionTools & { client: PoolClient },
): Promise<void> {
  const tokens = new Map<string, StaffToken>();
  for (const { event, metadata } of events) {
    if (event.type === 'StaffTokenIssued') tokens.set(event.data.token_id, issuedToken(event.data, metadata.time));
    if (event.type !== 'StaffTokenRevoked') continue;
    const { token_id: tokenId } = event.data;
    // From the log: a row of Postgres would have to be believed.
    const token = tokens.get(tokenId) ?? (await readIssued(store, event.data));
    if (token) tokens.set(tokenId, { ...token, revoked_at: token.revoked_at ?? metadata.time });
  }
  const rows = [...tokens.values()].map((token) => ({ ...token, mac: macs.sign('staff_tokens', textOf(token)) }));
  await upsertRows(client, 'staff_tokens', { key: ['token_hash'], rows });
}

async function readIssued(
  store: Pick<EventStore, 'read'>,
  { token_id, staff_id }: Pick<StaffToken, 'token_id' | 'staff_id'>,
): Promise<StaffToken | undefined> {
  for (const recorded of await store.read(staffStream(staff_id), 0)) {
    const { event, metadata } = parseStaffEvent(recorded);
    if (event.type === 'StaffTokenIssued' && event.data.token_id === token_id)
      return issuedToken(event.data, metadata.time);
  }
  return undefined;
}

/**
 * The token with a hash, whether or not it is revoked or has expired.
 *
 * @returns `notBelieved` for a row that this installation has not written
 * @throws {ReaderRefused} while a reader of the log is refused, for a token
 */
export async function readStaffToken(
  client: Queryable,
  tokenHash: string,
  macs: RowMacs,
): Promise<StaffToken | NotBelieved | undefined> {
  const { rows } = await client.query<StaffToken & RefusalColumn & { mac: string }>(
    `select *, ${refusalSql} from staff_tokens where token_hash = $1`,
    [tokenHash],
  );
  const [row] = rows;
  if (!row) return undefined;
  requireNoRefusal(row);
  const { mac, refusal: _refusal, ...token } = row;
  const isOurs = macs.verifies({ table: 'staff_tokens', name: token.token_id, text: textOf(token), mac });
  return isOurs ? token : notBelieved;
}
