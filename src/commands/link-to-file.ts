import { downloadNameOf } from '../domain/download-name.ts';
import { isGivenOut, linkSeconds } from '../domain/link-and-file-lifetimes.ts';
import { type FileStore, FileStoreUnavailable } from '../ports/files.ts';
import type { PlatformRules } from '../ports/platform-rules.ts';

/** A finished download and its file. Instants are UTC ISO-8601. */
export interface FinishedDownload {
  token: string;
  platform: string;
  video_id: string;
  finished_at: string | null;
  file_claim_revision: number | null;
  file_name: string | null;
  file_mime: string | null;
  file_size_bytes: number | null;
  file_expired_at: string | null;
}

export interface FileLinkDependencies {
  files: Pick<FileStore, 'sizeBytes' | 'link'>;
  rules: Pick<PlatformRules, 'whyBlocked'>;
  /** How long after its end a download's file is given out. */
  fileRetentionSeconds: number;
  now: () => string;
  realNowMs: () => number;
}

export interface FileLink {
  url: string;
  sizeBytes: number;
  mime: string;
}

/**
 * Signs a link to the file of a finished download, valid for an hour. A link is given only for a file that has not expired and is
 * there, and not of an item that is blocked since.
 *
 * @returns `gone` for a file that is no longer given out, `blocked` with the operator's reason, `away` while a file store cannot be asked
 */
export async function linkToFile(
  download: FinishedDownload,
  { files, rules, fileRetentionSeconds, now, realNowMs }: FileLinkDependencies,
): Promise<FileLink | 'gone' | 'away' | { blocked: string }> {
  const { token, file_claim_revision: claimRevision, file_name: name, file_mime: mime } = download;
  const { file_size_bytes: sizeBytes, finished_at: finishedAt, file_expired_at: expiredAt } = download;
  if (claimRevision === null || name === null || mime === null || sizeBytes === null || finishedAt === null)
    throw new Error(`job ${token} is done without a file`);
  if (!isGivenOut({ finishedAt, expiredAt }, fileRetentionSeconds, now())) return 'gone';
  const blocked = rules.whyBlocked({ platform: download.platform, videoId: download.video_id });
  if (blocked !== undefined) return { blocked };
  const file = { token, claimRevision, name };
  const extension = name.slice(name.lastIndexOf('.'));
  const downloadName = `${downloadNameOf(download.platform, download.video_id)}${extension}`;
  try {
    if ((await files.sizeBytes(file)) === undefined) return 'gone';
    const expiresAtSeconds = Math.floor(realNowMs() / 1000) + linkSeconds;
    return { url: await files.link(file, { expiresAtSeconds, downloadName }), sizeBytes, mime };
  } catch (error) {
    // Nothing is known about its files.
    if (error instanceof FileStoreUnavailable) return 'away';
    throw error;
  }
}
