import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndedDownload } from '../../src/client/wait-for-download.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Follows the link of a finished download. @throws with the reason where it has failed */
export async function fetchFile(data: EndedDownload): Promise<{ path: string; response: Response; bytes: Buffer }> {
  if (data.status !== 'done') throw new Error(`the download ended with ${data.error}`);
  const response = await fetch(data.download_url);
  const bytes = Buffer.from(await response.arrayBuffer());
  const path = join(temporaryDirectory(), 'file');
  await writeFile(path, bytes);
  return { path, response, bytes };
}
