/** A charge or a waiver behind a line of an invoice, with the download that it is about. */
export interface LineItem {
  event_id: string;
  revision: number;
  /** UTC ISO-8601. */
  time: string;
  token: string;
  platform: string;
  video_id: string;
  /** Of a waiver: case or ticket, and why. */
  reference: string | null;
  reason: string | null;
  /** Negative for a waiver. */
  cents: number;
}
