import { valueAt } from '../rules/divergence.ts';
import type { Link } from '../rules/event-schemas.ts';

/** What a UTC day of a billing period was charged, and what was given back on it. Subject of a row of `usage_days`. */
export interface UsageDay {
  stream: string;
  accountId: string;
  /** YYYY-MM-DD. */
  day: string;
  downloads: number;
  overageDownloads: number;
  overageCents: number;
  metadataRequests: number;
  returnedCredits: number;
  returnedOverageDownloads: number;
  returnedCents: number;
  returnedMetadataCredits: number;
}

/** The day that an event counts for: its own, for a correction too. */
export const dayOf = (event: Link): string => String(valueAt(event, 'metadata.time')).slice(0, 10);

export const emptyDay = (stream: string, accountId: string, day: string): UsageDay => ({
  stream,
  accountId,
  day,
  downloads: 0,
  overageDownloads: 0,
  overageCents: 0,
  metadataRequests: 0,
  returnedCredits: 0,
  returnedOverageDownloads: 0,
  returnedCents: 0,
  returnedMetadataCredits: 0,
});

/** @param taken cents of a charge; negative for a correction */
export function countEvent(day: UsageDay, { type, data }: Link, taken: number): void {
  const isDownload = type === 'DownloadCreditDebited' || type === 'OverageCharged';
  if (isDownload) day.downloads += 1;
  if (type === 'OverageCharged') day.overageDownloads += 1;
  if (type === 'MetadataCreditDebited') day.metadataRequests += 1;
  if (type === 'MetadataCreditVoided') day.returnedMetadataCredits += 1;
  if (type === 'DownloadCreditReturned') day.returnedCredits += 1;
  if (type === 'DownloadVoided') day.returnedCredits += data.credits;
  if (type === 'DownloadVoided' || type === 'ChargeWaived') day.returnedOverageDownloads += data.overage_downloads;
  if (taken > 0) day.overageCents += taken;
  else day.returnedCents -= taken;
}
