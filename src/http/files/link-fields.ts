import { z } from 'zod';
import type { PolledJob } from '../../../projections/jobs.ts';
import { type FileLinkDependencies, linkToFile } from '../../commands/link-to-file.ts';
import { linkSeconds } from '../../domain/link-and-file-lifetimes.ts';
import { ApiError, apiErrors } from '../errors.ts';

/** The link to a finished file: its name, and how long it is valid. The file store signs it. */

/** The fields of a finished download's file. */
export const fileLink = z.strictObject({
  download_url: z.string().describe('A signed link to the file, another one at each poll. It asks for no key.'),
  expires_in: z.literal(linkSeconds).describe('Seconds until this link expires.'),
  file_size_bytes: z.int().min(1).describe('Size of the file.'),
  file_mime: z.string().describe('Media type of the file.'),
});
type FileLink = z.infer<typeof fileLink>;

/**
 * @returns the reason, as text for people, if the file is no longer given out
 * @throws {ApiError} unavailable while a file store cannot be asked
 */
export async function fileLinkOf(
  job: PolledJob,
  dependencies: FileLinkDependencies,
): Promise<FileLink | { whyNone: string }> {
  const link = await linkToFile(job, dependencies);
  if (link === 'gone') return { whyNone: apiErrors.delivery_failed.message };
  if (link === 'away') throw new ApiError('unavailable', { away: 'file_store' });
  if ('blocked' in link) return { whyNone: `This video is blocked here: ${link.blocked}` };
  return {
    download_url: link.url,
    expires_in: linkSeconds,
    file_size_bytes: link.sizeBytes,
    file_mime: link.mime,
  };
}
