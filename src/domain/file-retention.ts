import { later, plusSeconds } from './instant.ts';

/** For how long a finished file is given out, and when its bytes may go. */

/** A link's life (contract §3): from the poll that it was issued for. */
export const linkSeconds = 3_600;

/** How long after its time the expiry of a file may come. A file that is later than that is not given out all the same. */
const lateSeconds = 600;

export interface FinishedFile {
  /** UTC ISO-8601. */
  finishedAt: string;
  /** When it expired; null as long as it has not. */
  expiredAt: string | null;
}

/**
 * Whether a link to a file may be given out. By the clock too, because who asks may not have heard of the expiry yet: so it is
 * known when the last link was given.
 *
 * @param now business time, UTC ISO-8601
 */
export function isGivenOut({ finishedAt, expiredAt }: FinishedFile, retentionSeconds: number, now: string): boolean {
  return expiredAt === null && now < lastLinkAt(finishedAt, retentionSeconds);
}

/** Whether every link to a file is over, so that its bytes may go. @param now business time, UTC ISO-8601 */
export function isOver({ finishedAt, expiredAt }: FinishedFile, retentionSeconds: number, now: string): boolean {
  if (expiredAt === null) return false;
  return now >= plusSeconds(later(expiredAt, lastLinkAt(finishedAt, retentionSeconds)), linkSeconds);
}

const lastLinkAt = (finishedAt: string, retentionSeconds: number) =>
  plusSeconds(finishedAt, retentionSeconds + lateSeconds);
