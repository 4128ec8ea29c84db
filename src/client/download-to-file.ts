import type { FileHandle } from 'node:fs/promises';
import type { ApiClient } from './client.ts';
import { ClientError, reasonOf, reasonWithAddress } from './client-error.ts';
import { openOutputFile } from './output-file.ts';
import type { components, paths } from './paths.ts';
import { waitForDownload, type Watched } from './wait-for-download.ts';
import { mayBeTaken, refusalOf, sendWithRetries } from './with-retries.ts';

export type DownloadRequest = paths['/video/download']['post']['requestBody']['content']['application/json'];
type DownloadDone = components['schemas']['DownloadDone'];

/** `signal` ends the wait and the transfer. A request to queue that is under way gets its answer first, as it may be charged. */
export interface ToFile extends Watched {
  /** A key for each download that is wanted: however often it is sent, it is queued and charged once. */
  idempotencyKey: string;
}

/**
 * Queues a download, waits for its end, and saves the file, for programs on Node. A file that exists is replaced once the new one
 * is whole, links are followed, and a device or a pipe is written straight into.
 *
 * @throws {ClientError} `not_writable` before anything is queued; with the request token once the download is queued, or with
 *   the key where nobody has answered whether it is
 */
export async function downloadToFile(
  api: ApiClient,
  request: DownloadRequest,
  file: string,
  { idempotencyKey, ...watched }: ToFile,
): Promise<DownloadDone> {
  // Before anything is charged: a file that cannot be written is no reason to queue.
  const output = await openOutputFile(file);
  try {
    const { onStatus: _status, ...limits } = watched;
    const requestToken = await queue(api, request, { idempotencyKey, ...limits });
    try {
      const ended = await waitForDownload(api, requestToken, watched);
      if (ended.status === 'failed') throw new ClientError(ended.error, ended.message, { hasFailed: true });
      await transfer(ended, output.handle, watched.signal);
      await output.finish();
      return ended;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      const { code, message, hasFailed } = error;
      throw new ClientError(code, message, { requestToken, hasFailed, cause: error });
    }
  } finally {
    await output.close();
  }
}

/** @returns its request token @throws {ClientError} with the key, if a request was sent that nobody of the API has answered */
async function queue(
  api: ApiClient,
  body: DownloadRequest,
  { idempotencyKey, ...given }: Omit<ToFile, 'onStatus'>,
): Promise<string> {
  const header = { 'Idempotency-Key': idempotencyKey };
  const sent = { isOpen: false };
  const send = async () => {
    const answered = await api.POST('/video/download', { params: { header }, body }).catch((failure: unknown) => {
      sent.isOpen ||= mayBeTaken(failure);
      throw failure;
    });
    const { ok, status } = answered.response;
    // A proxy has answered in the place of the API.
    if (!ok && refusalOf(answered.error, answered.response).code === 'unexpected_answer') sent.isOpen = true;
    // These say of the key itself that no download has it.
    else if (status === 400 || status === 402) sent.isOpen = false;
    return answered;
  };
  try {
    return (await sendWithRetries(send, given)).request_token;
  } catch (error) {
    if (!sent.isOpen || !(error instanceof ClientError)) throw error;
    throw new ClientError(error.code, error.message, { idempotencyKey, cause: error });
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
    throw failed(`the link to the file does not answer: ${reasonWithAddress(cause)}`, cause);
  });
  const { ok, status, body } = response;
  if (!ok || !body) throw failed(`the link to the file answers ${status}`);
  let savedBytes = 0;
  // Counted, because a pipe has no size.
  const counted = async function* () {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      savedBytes += chunk.byteLength;
      yield chunk;
    }
  };
  await target.writeFile(counted()).catch((cause: unknown) => {
    throw failed(`the transfer of the file broke off: ${reasonOf(cause)}`, cause);
  });
  if (savedBytes !== size) throw failed(`the file has ${savedBytes} bytes, not ${size}`);
}
