import type { Pool, PoolClient } from 'pg';
import { periodOfUsageStream } from '../src/domain/billing-period.ts';
import type { ParsedEvent } from '../src/domain/parse-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import { insertRows } from './write-rows.ts';

/**
 * The read model that the dispatcher mails from: table `usage_warnings`, one row per reached warning or overage cap, with
 * the Message-ID once it is mailed. A row is only a hint: the log decides whether a mail is sent.
 */
export async function applyToUsageWarnings(
  events: readonly ParsedEvent<UsageEvent>[],
  client: PoolClient,
): Promise<void> {
  const reached = events.flatMap(({ event, stream, revision, id, metadata }) => {
    if (event.type !== 'UsageWarningReached' && event.type !== 'OverageCapReached') return [];
    const { accountId } = periodOfUsageStream(stream);
    const { type } = event;
    const at = { event_id: id, account_id: accountId, stream, revision, time: metadata.time, type };
    if (event.type === 'OverageCapReached') return [at];
    const { limit, ...warning } = event.data;
    return [{ ...at, ...warning, credit_limit: limit }];
  });
  const mailed = events.flatMap(({ event: { type, data } }) => {
    if (type === 'UsageWarningMailed') return [{ eventId: data.warning_event_id, messageId: data.message_id }];
    return type === 'OverageCapMailed' ? [{ eventId: data.cap_event_id, messageId: data.message_id }] : [];
  });
  await insertRows(client, 'usage_warnings', reached);
  await markMailed(mailed, client);
}

async function markMailed(
  mailed: readonly { eventId: string; messageId: string }[],
  client: PoolClient,
): Promise<void> {
  if (mailed.length === 0) return;
  await client.query(
    `update usage_warnings w set message_id = m.message_id
     from unnest($1::uuid[], $2::text[]) m (event_id, message_id) where w.event_id = m.event_id`,
    [mailed.map(({ eventId }) => eventId), mailed.map(({ messageId }) => messageId)],
  );
}

/** A warning without a mail in the read model. */
export interface WaitingWarning {
  /** The id of the warning's event. */
  mail_id: string;
  account_id: string;
  stream: string;
}

/** A reached overage cap is news until its period ends, so caps reached before the service sent such mails are not mailed. An erased account has nobody to mail. */
const isWaiting = `w.message_id is null and (w.type <> 'OverageCapReached'
  or exists (select from credits c where c.stream = w.stream and c.phase = 'open'))
  and not exists (select from account_heads a where a.account_id = w.account_id and a.erased_at is not null)`;

/**
 * The warnings that have waited longest, oldest first. Of thresholds that a pool reached at once only the highest is listed,
 * because its mail covers the others.
 *
 * @param except event ids of warnings to leave out for now
 */
export async function listWaitingWarnings(
  pool: Pool,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<WaitingWarning[]> {
  const { rows } = await pool.query<WaitingWarning>(
    `select event_id as mail_id, account_id, stream from usage_warnings w
     where ${isWaiting} and event_id <> all($1::uuid[]) and not exists (
       select from usage_warnings h
       where h.message_id is null and (h.stream, h.pool, h.time) = (w.stream, w.pool, w.time)
         and h.limited_key_id is not distinct from w.limited_key_id
         and h.threshold_percent > w.threshold_percent)
     order by time, stream, revision limit $2`,
    [except, limit],
  );
  return rows;
}

/** Number of warnings that wait to be mailed, and the age of the oldest. @param now business time, UTC ISO-8601 */
export async function measureWaitingWarnings(
  pool: Pool,
  now: string,
): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await pool.query<{ count: number; seconds: number | null }>(
    `select count(*)::int as count, extract(epoch from $1::timestamptz - min(time))::float8 as seconds
     from usage_warnings w where ${isWaiting}`,
    [now],
  );
  const { count = 0, seconds = null } = rows[0] ?? {};
  return { count, oldestSeconds: Math.max(0, seconds ?? 0) };
}
