import { z } from 'zod';
import type { PolledJob } from '../../../projections/jobs.ts';
import { isGivenOut, linkSeconds } from '../../domain/file-retention.ts';
import type { EndpointDependencies } from '../endpoint.ts';
import { FileStoreUnavailable } from '../../ports/files.ts';
import { ApiError } from '../errors.ts';

/** The link to a finished file: its name, and how long it is valid. The file store signs it. */

/** The fields of a finished download's file. */
export const fileLink = z.strictObject({
  download_url: z.string().describe('A signed link to the file, another one at each poll. It asks for no key.'),
  expires_in: z.literal(linkSeconds).describe('Seconds until this link expires.'),
  file_size_bytes: z.int().min(1).describe('Size of the file.'),
  file_mime: z.string().describe('Media type of the file.'),
});
type FileLink = z.infer<typeof fileLink>;

type FileLinkDependencies = Pick<EndpointDependencies, 'files' | 'fileRetentionSeconds' | 'now' | 'realNowMs'>;

/** A link is given only for a file that has not expired and is there. */
export async function fileLinkOf(
  job: PolledJob,
  { files, fileRetentionSeconds, now, realNowMs }: FileLinkDependencies,
): Promise<FileLink> {
  const {
    token,
    file_claim_revision: claimRevision,
    file_name: name,
    file_mime: mime,
    file_size_bytes: sizeBytes,
    finished_at: finishedAt,
    file_expired_at: expiredAt,
  } = job;
  if (claimRevision === null || name === null || mime === null || sizeBytes === null || finishedAt === null)
    throw new Error(`job ${token} is done without a file`);
  if (!isGivenOut({ finishedAt, expiredAt }, fileRetentionSeconds, now())) throw new ApiError('delivery_failed');
  const file = { token, claimRevision, name };
  if ((await whileThere(files.sizeBytes(file))) === undefined) throw new ApiError('delivery_failed');
  const extension = name.slice(name.lastIndexOf('.'));
  const downloadName = `${job.platform}-${job.video_id.replaceAll(/[^\w-]/g, '_').slice(0, 80)}${extension}`;
  const expiresAtSeconds = Math.floor(realNowMs() / 1000) + linkSeconds;
  return {
    download_url: await whileThere(files.link(file, { expiresAtSeconds, downloadName })),
    expires_in: linkSeconds,
    file_size_bytes: sizeBytes,
    file_mime: mime,
  };
}

/** While a file store is away, nothing is known about its files. */
async function whileThere<Value>(asking: Promise<Value>): Promise<Value> {
  return asking.catch((error: unknown) => {
    throw error instanceof FileStoreUnavailable ? new ApiError('unavailable', { away: 'file_store' }) : error;
  });
}
