import type { Link } from '../rules/event-schemas.ts';

/** The UTC day that an event counts for, YYYY-MM-DD: its own, for a correction too. */
export const dayOf = ({ metadata }: Pick<Link, 'metadata'>): string => metadata.time.slice(0, 10);

/** @param event the end of a download */
export const outcomeOf = ({ type, data }: Link): string => (type === 'JobCompleted' ? 'done' : data.reason);

/** The downloads that ended on a UTC day, of one platform and in one way: a row of `job_days`. */
export const emptyJobDay = (day: string, platform: string, outcome: string) => ({
  day,
  platform,
  outcome,
  downloads: 0,
});
export type JobDay = ReturnType<typeof emptyJobDay>;

/** What a UTC day of a billing period was charged, and what was given back on it: a row of `usage_days`. */
export const emptyUsageDay = (stream: string, account_id: string, day: string) => ({
  stream,
  account_id,
  day,
  downloads: 0,
  overage_downloads: 0,
  overage_cents: 0,
  metadata_requests: 0,
  returned_credits: 0,
  returned_overage_downloads: 0,
  returned_cents: 0,
  returned_metadata_credits: 0,
});
export type UsageDay = ReturnType<typeof emptyUsageDay>;

/** @param taken cents of a charge; negative for a correction */
export function countEvent(day: UsageDay, { type, data }: Link, taken: number): void {
  const isDownload = type === 'DownloadCreditDebited' || type === 'OverageCharged';
  if (isDownload) day.downloads += 1;
  if (type === 'OverageCharged') day.overage_downloads += 1;
  if (type === 'MetadataCreditDebited') day.metadata_requests += 1;
  if (type === 'MetadataCreditVoided') day.returned_metadata_credits += 1;
  if (type === 'DownloadCreditReturned') day.returned_credits += 1;
  if (type === 'DownloadVoided') day.returned_credits += data.credits;
  if (type === 'DownloadVoided' || type === 'ChargeWaived') day.returned_overage_downloads += data.overage_downloads;
  if (taken > 0) day.overage_cents += taken;
  else day.returned_cents -= taken;
}
