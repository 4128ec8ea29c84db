import type { PoolClient } from 'pg';
import type { ParsedEvent } from '../src/domain/recorded-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import { evolveUsage, initialUsage } from '../src/domain/usage.ts';
import type { OpenUsage, UsageSnapshot } from '../src/domain/usage.ts';

/** The read model behind GET /credits, and where every decision about usage starts from: table `credits`. */

/** A row as `creditsColumns` selects it. */
export interface CreditsRow {
  account_id: string;
  period_start: Date;
  period_end: Date;
  stream: string;
  credits_revision: string;
  last_hash: string;
  last_time: Date;
  phase: OpenUsage['phase'];
  anchor_day: number;
  terms: OpenUsage['terms'];
  downloads: number;
  download_credits: number;
  overage_downloads: number;
  overage_cents: string;
  lookups: number;
  metadata_credits: number;
  fee_cents: string;
  fee_difference_cents: string;
  plan_changes: number;
  due: OpenUsage['due'];
  warned: OpenUsage['warned'];
  cap_reached: boolean;
  next: OpenUsage['next'];
}

const columns = [
  'account_id',
  'period_start',
  'period_end',
  'stream',
  'revision as credits_revision',
  'last_hash',
  'last_time',
  'phase',
  'anchor_day',
  'terms',
  'downloads',
  'download_credits',
  'overage_downloads',
  'overage_cents',
  'lookups',
  'metadata_credits',
  'fee_cents',
  'fee_difference_cents',
  'plan_changes',
  'due',
  'warned',
  'cap_reached',
  'next',
];

/** The select list of `CreditsRow`. @param alias of the table in the query */
export const creditsColumns = (alias: string) => columns.map((column) => `${alias}.${column}`).join(', ');

/** Where a column of `CreditsRow` stands in the select list. */
export function creditsColumnIndex(name: keyof CreditsRow): number {
  const index = columns.findIndex((column) => column === name || column.endsWith(` as ${name}`));
  if (index < 0) throw new Error(`${name} is not selected`);
  return index;
}

export function snapshotFromRow(row: CreditsRow): UsageSnapshot {
  return {
    stream: row.stream,
    revision: Number(row.credits_revision),
    lastHash: row.last_hash,
    lastTime: row.last_time.toISOString(),
    usage: {
      phase: row.phase,
      accountId: row.account_id,
      anchorDay: row.anchor_day,
      period: { start: row.period_start.toISOString(), end: row.period_end.toISOString() },
      terms: row.terms,
      downloads: row.downloads,
      downloadCredits: row.download_credits,
      overageDownloads: row.overage_downloads,
      overageCents: Number(row.overage_cents),
      lookups: row.lookups,
      metadataCredits: row.metadata_credits,
      feeCents: Number(row.fee_cents),
      feeDifferenceCents: Number(row.fee_difference_cents),
      planChanges: row.plan_changes,
      due: row.due,
      warned: row.warned,
      capReached: row.cap_reached,
      next: row.next,
    },
  };
}

/** The newest period's row of an account. */
export async function readNewestCredits(
  client: Pick<PoolClient, 'query'>,
  accountId: string,
): Promise<UsageSnapshot | undefined> {
  const { rows } = await client.query<CreditsRow>(
    `select ${creditsColumns('c')} from credits c where account_id = $1 order by period_start desc limit 1`,
    [accountId],
  );
  return rows[0] && snapshotFromRow(rows[0]);
}

/** The row of one period. @param stream its usage stream */
export async function readCredits(
  client: Pick<PoolClient, 'query'>,
  stream: string,
): Promise<UsageSnapshot | undefined> {
  return (await readCreditsOf(client, [stream]))[0];
}

/** The rows of several periods, in any order. */
export async function readCreditsOf(
  client: Pick<PoolClient, 'query'>,
  streams: readonly string[],
): Promise<UsageSnapshot[]> {
  const { rows } = await client.query<CreditsRow>(
    `select ${creditsColumns('c')} from credits c where stream = any($1)`,
    [streams],
  );
  return rows.map(snapshotFromRow);
}

/** Folds events into the rows of their streams. */
export async function applyToCredits(events: readonly ParsedEvent<UsageEvent>[], client: PoolClient): Promise<void> {
  const streams = [...new Set(events.map(({ stream }) => stream))];
  const { rows } = await client.query<CreditsRow>(
    `select ${creditsColumns('c')} from credits c where stream = any($1)`,
    [streams],
  );
  const snapshots = new Map(rows.map((row) => [row.stream, snapshotFromRow(row)]));
  for (const { stream, revision, event, metadata } of events) {
    const snapshot = snapshots.get(stream) ?? { revision: -1, usage: initialUsage };
    if (revision !== snapshot.revision + 1) {
      throw new Error(`${stream} stands at ${String(snapshot.revision)} in credits, and ${String(revision)} came next`);
    }
    const usage = evolveUsage(snapshot.usage, event);
    snapshots.set(stream, { stream, revision, lastHash: metadata.hash, lastTime: metadata.time, usage });
  }
  await writeRows([...snapshots.values()], client);
}

const written = Object.keys(rowOf({} as UsageSnapshot, { period: {}, terms: {} } as OpenUsage));
const changes = written
  .filter((column) => !['account_id', 'period_start', 'period_end', 'stream', 'anchor_day'].includes(column))
  .map((column) => `${column} = excluded.${column}`);

async function writeRows(snapshots: readonly UsageSnapshot[], client: PoolClient): Promise<void> {
  const rows = snapshots.flatMap(({ usage, ...at }) => (usage.phase === 'absent' ? [] : [rowOf(at, usage)]));
  await client.query(
    `insert into credits (${written.join(', ')})
     select ${written.join(', ')} from jsonb_populate_recordset(null::credits, $1)
     on conflict (account_id, period_start) do update set ${changes.join(', ')}`,
    [JSON.stringify(rows)],
  );
}

function rowOf({ stream, revision, lastHash, lastTime }: Omit<UsageSnapshot, 'usage'>, usage: OpenUsage) {
  return {
    account_id: usage.accountId,
    period_start: usage.period.start,
    period_end: usage.period.end,
    stream,
    revision,
    last_hash: lastHash,
    last_time: lastTime,
    phase: usage.phase,
    anchor_day: usage.anchorDay,
    plan: usage.terms.plan,
    terms: usage.terms,
    downloads: usage.downloads,
    download_credits: usage.downloadCredits,
    overage_downloads: usage.overageDownloads,
    overage_cents: usage.overageCents,
    lookups: usage.lookups,
    metadata_credits: usage.metadataCredits,
    fee_cents: usage.feeCents,
    fee_difference_cents: usage.feeDifferenceCents,
    plan_changes: usage.planChanges,
    due: usage.due,
    warned: usage.warned,
    cap_reached: usage.capReached,
    next: usage.next,
  };
}
