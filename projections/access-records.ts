import type { PoolClient } from 'pg';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import type { StaffEvent } from '../src/domain/staff-events.ts';
import { bindings, equalities, type Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

type Viewed = Extract<StaffEvent, { type: 'PersonalDataViewed' }>['data'];

/** Which member of staff has looked at whose data: table `staff_looks`, a part of the read model `staff`. */
export async function applyToAccessRecords(
  events: readonly ParsedEvent<StaffEvent>[],
  client: PoolClient,
): Promise<void> {
  const rows = events.flatMap(({ event: { type, data }, id, metadata, position }) =>
    type === 'PersonalDataViewed'
      ? [{ ...data, position: position.toString(), event_id: id, time: metadata.time }]
      : [],
  );
  await insertRows(client, 'staff_looks', rows);
}

/** Somebody of staff has read personal data. `time` is UTC ISO-8601. */
export interface AccessRecord {
  /** Commit position in the log, in digits; a cursor too. */
  position: string;
  event_id: string;
  staff_id: string;
  /** Null for the names in lists. */
  account_id: string | null;
  token: string | null;
  page: Viewed['page'];
  time: string;
}

/** The newest first: all, or those of a person, of an account or of a download. @param before a position: only older ones */
export async function listAccessRecords(
  client: Queryable,
  { of, before, limit }: { of: AccessRecordsOf; before?: string | undefined; limit: number },
): Promise<AccessRecord[]> {
  const { values, bind } = bindings();
  const wanted = equalities({ staff_id: of.staffId, account_id: of.accountId, token: of.token }, bind);
  const { rows } = await client.query<AccessRecord>(
    `select position::text, event_id, staff_id, account_id, token, page, time
     from staff_looks l where ${[`l.position < coalesce(${bind(before ?? null)}::numeric, 'infinity')`, ...wanted].join(' and ')}
     order by l.position desc limit ${bind(limit)}`,
    values,
  );
  return rows;
}

interface AccessRecordsOf {
  staffId?: string | undefined;
  accountId?: string | undefined;
  token?: string | undefined;
}
