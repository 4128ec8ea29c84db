import { open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { ApiClient } from './client.ts';
import { ClientError, reasonOf } from './client-error.ts';
import type { components, paths } from './paths.ts';
import { waitForDownload } from './wait-for-download.ts';
import type { DownloadStatus } from './wait-for-download.ts';
import { sendWithRetries } from './with-retries.ts';

export type DownloadRequest = paths['/video/download']['post']['requestBody']['content']['application/json'];
type DownloadDone = components['schemas']['DownloadDone'];

export interface ToFile {
  /** A key for each download that is wanted: however often it is sent, it is queued and charged once. */
  idempotencyKey: string;
  /** Told each status of the download. */
  onStatus?: (status: DownloadStatus) => void;
  signal?: AbortSignal;
}

/**
 * Queues a download, waits for its end, and saves the file, for programs on Node. Until it is whole it has the name
 * `{file}.part`.
 *
 * @throws {ClientError} with the request token once the download is queued
 */
export async function downloadToFile(
  api: ApiClient,
  request: DownloadRequest,
  file: string,
  { idempotencyKey, onStatus, signal }: ToFile,
): Promise<DownloadDone> {
  const incomplete = `${file}.part`;
  // Before anything is charged: a file that cannot be written is no reason to queue.
  const target = await open(incomplete, 'w').catch((cause: unknown) => {
    throw new ClientError('not_writable', `${file} cannot be written: ${reasonOf(cause)}`, { cause });
  });
  const given = signal && { signal };
  try {
    const header = { 'Idempotency-Key': idempotencyKey };
    const queue = () => api.POST('/video/download', { params: { header }, body: request, ...given });
    const { request_token: token } = await sendWithRetries(queue, given);
    try {
      const ended = await waitForDownload(api, token, { ...given, ...(onStatus && { onStatus }) });
      if (ended.status === 'failed') throw new ClientError(ended.error, ended.message);
      await transfer(ended, target, signal);
      await rename(incomplete, file);
      return ended;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      throw new ClientError(error.code, error.message, { requestToken: token, cause: error });
    }
  } finally {
    await target.close();
    await rm(incomplete, { force: true });
  }
}

/** @throws {ClientError} `transfer_failed`, unless the whole file is in the target */
async function transfer(
  { download_url: url, file_size_bytes: size }: DownloadDone,
  target: FileHandle,
  signal?: AbortSignal,
): Promise<void> {
  const failed = (what: string, cause?: unknown) => new ClientError('transfer_failed', what, { cause });
  const response = await fetch(url, signal && { signal }).catch((cause: unknown) => {
    throw failed(`the link to the file does not answer: ${reasonOf(cause)}`, cause);
  });
  if (!response.ok || !response.body) throw failed(`the link to the file answers ${response.status}`);
  await target.writeFile(response.body).catch((cause: unknown) => {
    throw failed(`the transfer of the file broke off: ${reasonOf(cause)}`, cause);
  });
  const { size: savedBytes } = await target.stat();
  if (savedBytes !== size) throw failed(`the file has ${savedBytes} bytes, not ${size}`);
}
