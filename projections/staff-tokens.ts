import type { PoolClient } from 'pg';
import { type ParsedEvent, parseStaffEvent } from '../src/domain/parse-event.ts';
import { type StaffEvent, type StaffScope, staffStream } from '../src/domain/staff-events.ts';
import type { EventStore } from '../src/ports/event-store.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { type NotBelieved, notBelieved } from './credits-macs.ts';
import { type RefusalColumn, refusalSql, requireNoRefusal } from './runner/refused-readers.ts';

/** Tokens of staff for programs: table `staff_tokens`, a part of the read model `staff`. Instants are UTC ISO-8601. */
export interface StaffToken {
  /** SHA-256 of the token, hexadecimal. */
  tokenHash: string;
  tokenId: string;
  staffId: string;
  prefix: string;
  label: string;
  scopes: StaffScope[];
  createdAt: string;
  expiresAt: string;
  revokedAt: string | null;
}

interface TokenRow {
  token_hash: string;
  token_id: string;
  staff_id: string;
  prefix: string;
  label: string;
  scopes: StaffScope[];
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  mac: string;
}

const tokenOf = (row: TokenRow): StaffToken => ({
  tokenHash: row.token_hash,
  tokenId: row.token_id,
  staffId: row.staff_id,
  prefix: row.prefix,
  label: row.label,
  scopes: row.scopes,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
  revokedAt: row.revoked_at?.toISOString() ?? null,
});

const textOf = (token: StaffToken): string => JSON.stringify(rowOf(token));

const rowOf = (token: StaffToken) => ({
  token_hash: token.tokenHash,
  token_id: token.tokenId,
  staff_id: token.staffId,
  prefix: token.prefix,
  label: token.label,
  scopes: token.scopes,
  created_at: token.createdAt,
  expires_at: token.expiresAt,
  revoked_at: token.revokedAt,
});

function believed(row: TokenRow, macs: RowMacs): StaffToken | NotBelieved {
  const token = tokenOf(row);
  const isOurs = macs.verifies({ table: 'staff_tokens', name: token.tokenId, text: textOf(token), mac: row.mac });
  return isOurs ? token : notBelieved;
}

type Issued = Extract<StaffEvent, { type: 'StaffTokenIssued' }>['data'];

const issuedToken = (data: Issued, time: string): StaffToken => ({
  tokenHash: data.token_hash,
  tokenId: data.token_id,
  staffId: data.staff_id,
  prefix: data.token_prefix,
  label: data.personal.label,
  scopes: data.scopes,
  createdAt: time,
  expiresAt: data.expires_at,
  revokedAt: null,
});

export async function applyToStaffTokens(
  events: readonly ParsedEvent<StaffEvent>[],
  { client, macs, store }: { client: PoolClient; macs: RowMacs; store: Pick<EventStore, 'read'> },
): Promise<void> {
  const tokens = new Map<string, StaffToken>();
  for (const { event, metadata } of events) {
    if (event.type === 'StaffTokenIssued') tokens.set(event.data.token_id, issuedToken(event.data, metadata.time));
    if (event.type !== 'StaffTokenRevoked') continue;
    const { token_id: tokenId, staff_id: staffId } = event.data;
    // From the log: a row of Postgres would have to be believed.
    const token = tokens.get(tokenId) ?? (await readIssued(store, { tokenId, staffId }));
    if (token) tokens.set(tokenId, { ...token, revokedAt: token.revokedAt ?? metadata.time });
  }
  if (tokens.size === 0) return;
  const rows = [...tokens.values()].map((token) => ({
    ...rowOf(token),
    mac: macs.sign('staff_tokens', textOf(token)),
  }));
  await client.query(
    `insert into staff_tokens select * from jsonb_populate_recordset(null::staff_tokens, $1)
     on conflict (token_hash) do update set revoked_at = excluded.revoked_at, mac = excluded.mac`,
    [JSON.stringify(rows)],
  );
}

async function readIssued(
  store: Pick<EventStore, 'read'>,
  { tokenId, staffId }: Pick<StaffToken, 'tokenId' | 'staffId'>,
): Promise<StaffToken | undefined> {
  for (const recorded of await store.read(staffStream(staffId), 0)) {
    const { event, metadata } = parseStaffEvent(recorded);
    if (event.type === 'StaffTokenIssued' && event.data.token_id === tokenId)
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
  client: Pick<PoolClient, 'query'>,
  tokenHash: string,
  macs: RowMacs,
): Promise<StaffToken | NotBelieved | undefined> {
  const { rows } = await client.query<TokenRow & RefusalColumn>(
    `select *, ${refusalSql} from staff_tokens where token_hash = $1`,
    [tokenHash],
  );
  const [row] = rows;
  if (!row) return undefined;
  requireNoRefusal(row);
  return believed(row, macs);
}
