import type { ApiKeyRow } from '../../projections/api-keys.ts';
import {
  type DownloadCursor,
  type DownloadFilter,
  type DownloadPage,
  listAccountDownloads,
  readDownloadFacts,
} from '../../projections/queries/account-downloads.ts';
import type { Queryable } from '../../projections/runner/rows.ts';
import type { Exported } from './export.ts';

const downloadsAtOnce = 500;

const columns = [
  ...['queued_at', 'token', 'platform', 'video_id', 'title', 'url', 'format', 'quality', 'status'],
  ...['failure_reason', 'finished_at', 'file_size_bytes', 'key_id', 'key_prefix', 'key_label'],
  ...['has_idempotency_key', 'repeated_at'],
  ...['credits', 'overage_cents', 'given_back_cents'],
] as const;

/** All downloads of a list with its filters, the newest first: one statement for each page of them. */
export function exportedDownloads(
  client: Queryable,
  { accountId, filter, keys }: { accountId: string; filter: DownloadFilter; keys: readonly ApiKeyRow[] },
): Exported<object> {
  const keysById = new Map(keys.map((key) => [key.key_id, key]));
  async function* rows(gone: AbortSignal) {
    for (let after: DownloadCursor | undefined, isAtEnd = false; !isAtEnd;) {
      gone.throwIfAborted();
      const page: DownloadPage = await listAccountDownloads(client, {
        accountId,
        filter,
        after,
        limit: downloadsAtOnce,
      });
      const about = await readDownloadFacts(client, { accountId, tokens: page.downloads.map(({ token }) => token) });
      yield page.downloads.map((job) => {
        const key = keysById.get(job.key_id ?? '');
        const facts = about.get(job.token);
        const { givenBackCents = 0, isCreditReturned = false, hasIdempotencyKey = false } = facts ?? {};
        return {
          ...job,
          key_prefix: key?.key_prefix ?? null,
          key_label: key?.label ?? null,
          has_idempotency_key: hasIdempotencyKey ? 'yes' : 'no',
          repeated_at: hasIdempotencyKey ? facts?.repeatedAt : null,
          credits: job.overage || isCreditReturned ? 0 : 1,
          overage_cents: job.overage ? job.cents : 0,
          given_back_cents: givenBackCents,
        };
      });
      after = page.next;
      isAtEnd = after === undefined;
    }
  }
  return { fileName: 'downloads', columns, about: { of: 'downloads', account_id: accountId, ...filter }, rows };
}
