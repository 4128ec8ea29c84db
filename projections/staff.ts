import type { PoolClient } from 'pg';
import { type ParsedEvent, parseStaffEvent } from '../src/domain/parse-event.ts';
import { mailbox } from '../src/domain/people.ts';
import type { StaffEvent, StaffRole } from '../src/domain/staff-events.ts';
import type { EventStore } from '../src/ports/event-store.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';
import { applyToAccessRecords } from './access-records.ts';
import { type NotBelieved, notBelieved } from './credits-macs.ts';
import type { ProjectionTools, RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { applyToStaffTokens } from './staff-tokens.ts';
import { upsertRows } from './write-rows.ts';

/**
 * The read model of members of staff: tables `staff`, `staff_addresses`, `staff_tokens` and `staff_looks`. A row of `staff` says
 * who may open a page now; a command that gives something back asks the person's stream instead.
 */
export const staff: RebuildableProjection = {
  name: 'staff',
  tables: ['staff', 'staff_addresses', 'staff_tokens', 'staff_looks'],
  signedTables: { staff: 'mac', staff_addresses: 'email_mac', staff_tokens: 'mac' },
  streamPrefixes: ['staff-'],
  start:
    ({ macs, store }) =>
    async (events, client) => {
      const parsed = events.map(parseStaffEvent);
      await applyToMembers(parsed, { client, macs, store });
      await applyToStaffTokens(parsed, { client, macs, store });
      await applyToAccessRecords(parsed, client);
    },
};

/** A member of staff. Instants are UTC ISO-8601. */
export interface StaffMember {
  staff_id: string;
  role: StaffRole;
  /** False: the OpenID provider knows the person. */
  invited: boolean;
  since: string;
  removed_at: string | null;
}

type MemberRow = StaffMember & { mac: string };

const textOf = ({ staff_id, role, invited, since, removed_at }: StaffMember): string =>
  JSON.stringify([staff_id, role, invited, since, removed_at]);

function believed({ mac, ...member }: MemberRow, macs: RowMacs): StaffMember | NotBelieved {
  const isOurs = macs.verifies({ table: 'staff', name: member.staff_id, text: textOf(member), mac });
  return isOurs ? member : notBelieved;
}

async function applyToMembers(
  events: readonly ParsedEvent<StaffEvent>[],
  { client, macs, store }: ProjectionTools & { client: PoolClient },
): Promise<void> {
  const changing = events.filter(({ event }) => changes(event));
  if (changing.length === 0) return;
  const ids = [...new Set(changing.map(({ event }) => event.data.staff_id))];
  const members = await readStaffMembers(client, ids, macs);
  const addresses = new Map<string, string>();
  for (const parsed of changing) {
    const { staff_id: staffId } = parsed.event.data;
    const before = members.get(staffId);
    // Folding on from a row that is not believed would sign its content.
    const known = before === notBelieved ? await fold(store, parsed) : before;
    const member = evolve(known, parsed);
    if (member) members.set(staffId, member);
    const email = emailOf(parsed.event);
    if (email !== null) addresses.set(staffId, email);
  }
  const rows = [...members.values()].flatMap((member) =>
    member === notBelieved ? [] : [{ ...member, mac: macs.sign('staff', textOf(member)) }],
  );
  await upsertRows(client, 'staff', { key: ['staff_id'], rows });
  const emails = [...addresses].map(([staff_id, email]) => ({
    staff_id,
    email_mac: macs.sign('staff_addresses', mailbox(email)),
  }));
  await upsertRows(client, 'staff_addresses', { key: ['staff_id'], rows: emails });
}

type MemberEvent = Extract<StaffEvent, { type: (typeof memberEvents)[number] }>;
const memberEvents = ['StaffInvited', 'StaffRoleChanged', 'StaffRemoved', 'StaffSignedIn'] as const;

const changes = ({ type }: StaffEvent): boolean => memberEvents.some((name) => name === type);

/** @returns undefined if nobody is known */
function evolve(
  member: StaffMember | undefined,
  { event, metadata: { time } }: ParsedEvent<StaffEvent>,
): StaffMember | undefined {
  const { type, data } = event as MemberEvent;
  switch (type) {
    case 'StaffInvited':
      return { staff_id: data.staff_id, role: data.role, invited: true, since: time, removed_at: null };
    case 'StaffSignedIn':
      if (member) return data.by === 'provider' ? { ...member, role: data.role } : member;
      return { staff_id: data.staff_id, role: data.role, invited: false, since: time, removed_at: null };
    case 'StaffRoleChanged':
      return member && { ...member, role: data.role };
    case 'StaffRemoved':
      return member && { ...member, removed_at: time };
    default:
      return member;
  }
}

/** The member as the log has it directly before an event. */
async function fold(
  store: Pick<EventStore, 'read'>,
  { stream, revision }: ParsedEvent,
): Promise<StaffMember | undefined> {
  let member: StaffMember | undefined;
  for (const recorded of await store.read(stream, 0, revision)) member = evolve(member, parseStaffEvent(recorded));
  return member;
}

function emailOf({ type, data }: StaffEvent): string | null {
  return type === 'StaffInvited' || type === 'StaffSignedIn' ? (data.personal?.email ?? null) : null;
}

/** By their ids: as `readStaffMember`. */
export async function readStaffMembers(
  client: Queryable,
  ids: readonly string[],
  macs: RowMacs,
): Promise<Map<string, StaffMember | NotBelieved>> {
  const { rows } = await client.query<MemberRow>(`select ${columns('s')} from staff s where staff_id = any($1)`, [ids]);
  return new Map(rows.map((row) => [row.staff_id, believed(row, macs)]));
}

const columns = (alias: string) =>
  ['staff_id', 'role', 'invited', 'since', 'removed_at', 'mac'].map((column) => `${alias}.${column}`).join(', ');

/** @returns undefined for an id that nobody has, `notBelieved` for a row that this installation has not written */
export async function readStaffMember(
  client: Queryable,
  staffId: string,
  macs: RowMacs,
): Promise<StaffMember | NotBelieved | undefined> {
  return (await readStaffMembers(client, [staffId], macs)).get(staffId);
}

/** The members with an e-mail address, without removed ones. Rows that were made under an older secret are found too. */
export async function listStaffOfAddress(
  client: Queryable,
  { email, macs, limit }: { email: string; macs: RowMacs; limit: number },
): Promise<StaffMember[]> {
  const { rows } = await client.query<MemberRow>(
    `select ${columns('s')} from staff_addresses a join staff s using (staff_id)
     where a.email_mac = any($1) and s.removed_at is null order by s.since, s.staff_id limit $2`,
    [macs.signUnderEach('staff_addresses', mailbox(email)), limit],
  );
  return rows.flatMap((row) => believedOnly(believed(row, macs)));
}

const believedOnly = <Value>(value: Value | NotBelieved): Value[] => (value === notBelieved ? [] : [value]);

/** Tells whether anybody is an admin now: a hint for people, not a permit. */
export async function hasAdmin(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ is_there: boolean }>(
    "select exists (select from staff where role = 'admin' and removed_at is null) as is_there",
  );
  return rows[0]?.is_there === true;
}

/** Members in the order in which they came, removed ones included. Rows that are not believed are left out. */
export async function listStaffMembers(
  client: Queryable,
  { after, limit, macs }: { after?: Pick<StaffMember, 'since' | 'staff_id'>; limit: number; macs: RowMacs },
): Promise<StaffMember[]> {
  const { rows } = await client.query<MemberRow>(
    `select ${columns('s')} from staff s where (since, staff_id) > ($1, $2) order by since, staff_id limit $3`,
    [after?.since ?? '-infinity', after?.staff_id ?? '', limit],
  );
  return rows.flatMap((row) => believedOnly(believed(row, macs)));
}
