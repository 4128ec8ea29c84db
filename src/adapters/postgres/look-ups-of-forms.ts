import type { Pool } from 'pg';
import type { LookUpsOfForms } from '../../ports/console-sessions.ts';
import type { VideoMetadata } from '../../ports/videos.ts';

/** Table `look_ups_of_forms`. A row is kept for a day: nobody sends a form of yesterday again. */
export function createLookUpsOfForms(pool: Pool): LookUpsOfForms {
  return {
    async begin({ accountId, formHash }) {
      const begun = await pool.query(
        `with old as (delete from look_ups_of_forms where begun_at < clock_timestamp() - interval '1 day')
         insert into look_ups_of_forms values ($1, $2) on conflict do nothing returning 1`,
        [accountId, formHash],
      );
      if (begun.rows.length > 0) return 'begun';
      const { rows } = await pool.query<{ metadata: VideoMetadata | null }>(
        'select metadata from look_ups_of_forms where account_id = $1 and form_hash = $2',
        [accountId, formHash],
      );
      return rows[0]?.metadata ?? 'under_way';
    },

    async found({ accountId, formHash }, metadata) {
      await pool.query('update look_ups_of_forms set metadata = $3 where account_id = $1 and form_hash = $2', [
        ...[accountId, formHash, JSON.stringify(metadata)],
      ]);
    },

    async notCharged({ accountId, formHash }) {
      await pool.query('delete from look_ups_of_forms where account_id = $1 and form_hash = $2', [accountId, formHash]);
    },
  };
}
