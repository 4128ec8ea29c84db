import type { Format, Quality } from '../domain/download-options.ts';
import type { UsageSnapshot } from '../domain/usage.ts';
import type { VideoReference } from './ports.ts';
import type { Cause } from './seal.ts';
import type { UsageAnswer } from './usage-group.ts';
import type { UsageLanes } from './usage-lanes.ts';

export interface QueueDownloadRequest {
  accountId: string;
  /** Fresh random bits with a keyed check (`RequestTokens`). */
  token: string;
  video: VideoReference;
  format: Format;
  quality: Quality;
  snapshot: UsageSnapshot;
  cause: Cause;
  deadlineMs: number;
}

/** Accepting a download is one append: its charge and the job together, or nothing (design of `usage-lane.ts`). */
export function queueDownload(
  lanes: UsageLanes,
  { accountId, token, video, format, quality, ...request }: QueueDownloadRequest,
): Promise<UsageAnswer> {
  return lanes.ask(accountId, { ...request, command: { kind: 'queue_download', token, video, format, quality } });
}
