import { z } from 'zod';
import { type AccessRecord, listAccessRecords } from '../../../../projections/access-records.ts';
import { notBelieved } from '../../../../projections/credits-macs.ts';
import { listStaffMembers, readStaffMember, type StaffMember } from '../../../../projections/staff.ts';
import { readStaff } from '../../../commands/staff.ts';
import { memberFacts, tokenFacts } from '../../../documents/staff-facts.ts';
import { staffId } from '../../../domain/staff-events.ts';
import { missing } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { firstRows, type Rows, type View } from '../view.ts';
import { accountFilter } from './overage.ts';

/** Who is staff. E-mail addresses, sign-ins and tokens come from the log, where the addresses stand under keys that can be deleted. */

export type MemberShown = ReturnType<typeof memberFacts>;

const perPage = 25;

/** The members of staff in the order in which they came, removed ones included: one statement, two on later pages. */
export const people: View<{ after?: string | undefined }, Rows<MemberShown>> = {
  input: z.object({ after: staffId.optional() }),
  read: async (dependencies, { after }) => {
    const { pool, macs, now } = dependencies;
    const last = after === undefined ? undefined : await findKnown(dependencies, after);
    const found = await listStaffMembers(pool, { ...(last && { after: last }), limit: perPage + 1, macs });
    const { rows, next } = firstRows(found, perPage, ({ staff_id: id }) => id);
    const members = rows.map(async (row) => memberFacts(row, await readStaff(dependencies, row.staff_id), now()));
    return { rows: await Promise.all(members), next };
  },
};

async function findKnown({ pool, macs }: Pick<StaffDependencies, 'pool' | 'macs'>, id: string): Promise<StaffMember> {
  const row = await readStaffMember(pool, id, macs);
  if (!row || row === notBelieved) throw missing();
  return row;
}

export type TokenShown = ReturnType<typeof tokenFacts>;

export interface Person extends MemberShown {
  /** The newest first. */
  issued_tokens: TokenShown[];
  /** The newest 20. */
  access_records: AccessRecord[];
}

const shownAccessRecords = 20;

/** One member: two statements. */
export const person: View<{ person: string }, Person> = {
  input: z.object({ person: z.string().max(60) }),
  read: async (dependencies, { person: id }) => {
    const { pool, now } = dependencies;
    if (!staffId.safeParse(id).success) throw missing();
    const row = await findKnown(dependencies, id);
    const log = await readStaff(dependencies, id);
    const records = await listAccessRecords(pool, { of: { staffId: id }, limit: shownAccessRecords });
    const isStaff = row.removed_at === null && !log.removed;
    const tokens = [...log.tokens.values()].toReversed().map((token) => tokenFacts(token, { isStaff, now: now() }));
    return { ...memberFacts(row, log, now()), issued_tokens: tokens, access_records: records };
  },
  named: ({ access_records: records }) => records,
};

const accessRecordsInput = z.object({
  person: staffId.optional().describe('Only those of this member.'),
  account: accountFilter.optional(),
  before: z
    .string()
    .regex(/^\d{1,20}$/, 'is no position in the log')
    .optional(),
});

const accessRecordsPerPage = 50;

/** Who has looked at whose data, the newest first: one statement. */
export const accessRecords: View<z.infer<typeof accessRecordsInput>, Rows<AccessRecord>> = {
  input: accessRecordsInput,
  read: async ({ pool }, { person: by, account: accountId, before }) => {
    const of = { staffId: by, accountId };
    const found = await listAccessRecords(pool, { of, before, limit: accessRecordsPerPage + 1 });
    return firstRows(found, accessRecordsPerPage, ({ position }) => position);
  },
  named: ({ rows }) => rows,
};
