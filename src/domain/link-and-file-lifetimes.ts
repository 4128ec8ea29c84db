import { later, plusSeconds } from './instant.ts';

/** How long links to a finished file are issued, and when its bytes may be removed. */

/** Lifetime of a link (contract §3), from the poll that it was issued for. */
export const linkSeconds = 3_600;

/** How late the expiry of a file may be. After that no link is issued, with or without the event. */
const lateSeconds = 600;

export interface FinishedFile {
  /** UTC ISO-8601. */
  finishedAt: string;
  /** UTC ISO-8601; null until it expires. */
  expiredAt: string | null;
}

/**
 * True if a link to a file may be issued. The clock counts too, because the caller may not know of the expiry yet: so the time of
 * the last link is certain.
 *
 * @param now business time, UTC ISO-8601
 */
export function isGivenOut({ finishedAt, expiredAt }: FinishedFile, retentionSeconds: number, now: string): boolean {
  return expiredAt === null && now < lastLinkAt(finishedAt, retentionSeconds);
}

/** True if every link to a file has ended, so its bytes may be removed. @param now business time, UTC ISO-8601 */
export function isOver({ finishedAt, expiredAt }: FinishedFile, retentionSeconds: number, now: string): boolean {
  if (expiredAt === null) return false;
  return now >= plusSeconds(later(expiredAt, lastLinkAt(finishedAt, retentionSeconds)), linkSeconds);
}

const lastLinkAt = (finishedAt: string, retentionSeconds: number) =>
  plusSeconds(finishedAt, retentionSeconds + lateSeconds);
