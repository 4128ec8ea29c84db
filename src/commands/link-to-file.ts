import { isGivenOut, linkSeconds } from '../domain/file-retention.ts';
import { FileStoreUnavailable } from '../ports/files.ts';
import type { FileStore } from '../ports/files.ts';

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
 * there.
 *
 * @returns `gone` for a file that is no longer given out, `away` while a file store cannot be asked
 */
export async function linkToFile(
  download: FinishedDownload,
  { files, fileRetentionSeconds, now, realNowMs }: FileLinkDependencies,
): Promise<FileLink | 'gone' | 'away'> {
  const { token, file_claim_revision: claimRevision, file_name: name, file_mime: mime } = download;
  const { file_size_bytes: sizeBytes, finished_at: finishedAt, file_expired_at: expiredAt } = download;
  if (claimRevision === null || name === null || mime === null || sizeBytes === null || finishedAt === null)
    throw new Error(`job ${token} is done without a file`);
  if (!isGivenOut({ finishedAt, expiredAt }, fileRetentionSeconds, now())) return 'gone';
  const file = { token, claimRevision, name };
  const extension = name.slice(name.lastIndexOf('.'));
  const downloadName = `${download.platform}-${download.video_id.replaceAll(/[^\w-]/g, '_').slice(0, 80)}${extension}`;
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
