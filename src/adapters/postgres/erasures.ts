import type { Pool } from 'pg';
import type { Erasures } from '../../ports/erasures.ts';

/** Sessions name browsers, and links have MACs of e-mail addresses. */
const deleteSql = (due: string) => `with due as (${due}),
  sessions as (delete from console_sessions s using due where s.account_id = due.account_id),
  links as (delete from sign_in_links l using due where due.account_id = any(l.account_ids)),
  forms as (delete from look_ups_of_forms f using due where f.account_id = due.account_id)
delete from personal_keys k using due where k.subject = due.account_id and (k.kind = 'personal' or due.with_documents)`;

const oneAccount = 'select $1::text as account_id, $2::boolean as with_documents';
const allErased = `select account_id, coalesce(documents_until <= $1, true) as with_documents
  from account_heads where erased_at is not null`;

export const createErasures = (pool: Pool): Erasures => ({
  areBooksDone: async (accountId) => {
    const { rows } = await pool.query<{ is_done: boolean | null }>(
      // The last period has none after it: a read model that is behind has rows that are not closed, or not the last one.
      `select bool_and(phase = 'closed' and not opening_invoice_due and not period_invoice_due)
         and bool_or(next is null or next = 'null') as is_done
       from credits where account_id = $1`,
      [accountId],
    );
    return rows[0]?.is_done === true;
  },
  deleteAccount: async (accountId, { withDocuments }) => {
    await pool.query(deleteSql(oneAccount), [accountId, withDocuments]);
  },
  listErased: async () => {
    const { rows } = await pool.query<{ account_id: string }>(
      'select account_id from account_heads where erased_at is not null order by account_id',
    );
    return rows.map(({ account_id: accountId }) => accountId);
  },
  deleteErased: async (now) => (await pool.query(deleteSql(allErased), [now])).rowCount ?? 0,
});
