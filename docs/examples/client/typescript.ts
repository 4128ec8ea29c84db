/**
 * Downloads a video with the typed client (src/client of the service), on Node 24 or newer:
 *
 *     REELTALLY_URL=https://api.example.com REELTALLY_KEY=rtk_… node typescript.ts [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]
 *
 * The same IDEMPOTENCY_KEY, such as the number of your order, is charged once, however often the program is run. --check asks for
 * the metadata first, and queues nothing if the service knows that the download would fail. A download takes one request of the
 * key's hourly limit, and the check another. `downloadToFile` of the client does the rest in one call; here are its steps.
 */
import { rename, writeFile } from 'node:fs/promises';
import { createApiClient } from '@reeltally/client';
import { ClientError } from '@reeltally/client/client-error';
import { waitForDownload } from '@reeltally/client/wait-for-download';
import { sendWithRetries } from '@reeltally/client/with-retries';

const { REELTALLY_URL, REELTALLY_KEY } = process.env;
const words = process.argv.slice(2);
const checks = words[0] === '--check';
const [video, file, idempotencyKey = crypto.randomUUID()] = checks ? words.slice(1) : words;
if (!REELTALLY_URL || !REELTALLY_KEY || !video || !file) {
  console.error('usage: REELTALLY_URL=… REELTALLY_KEY=… typescript.ts [--check] VIDEO_URL FILE [IDEMPOTENCY_KEY]');
  process.exit(2);
}
const api = createApiClient(REELTALLY_URL, REELTALLY_KEY);
// Answers that ask for it are repeated after the pause that they name: a 429 says when the oldest request leaves the hourly
// window, which may be an hour away.
const limits = { attempts: 6, longestPauseSeconds: 60 };

try {
  // Costs one metadata credit.
  if (checks) {
    const query = { url: video };
    const { title, download } = await sendWithRetries(() => api.GET('/video/metadata', { params: { query } }), limits);
    console.log(`title: ${title}`);
    if (download.reason !== null)
      throw new ClientError(download.reason, 'the video cannot be downloaded, and nothing was queued');
  }

  // Costs one download credit, or the overage price. 202 means that it is recorded and charged; with the same key, once.
  const header = { 'Idempotency-Key': idempotencyKey };
  const body = { url: video, quality: '360' } as const;
  const { request_token: token } = await sendWithRetries(
    () => api.POST('/video/download', { params: { header }, body }),
    limits,
  );
  console.log(`queued: ${token}`);

  // Few polls: the service answers each when the download has ended, or after a minute.
  const ended = await waitForDownload(api, token);
  if (ended.status === 'failed') throw new ClientError(ended.error, `${ended.message}, token ${token}`);

  // The link is signed and needs no key; it is valid for an hour, and each poll makes another one. An error is never saved as
  // the film; nor is half of it, because the file gets its name once it is whole.
  const response = await fetch(ended.download_url);
  if (!response.ok || !response.body)
    throw new ClientError('transfer_failed', `the file was not fetched, token ${token}`);
  await writeFile(`${file}.part`, response.body);
  await rename(`${file}.part`, file);
  console.log(`saved: ${file}`);
} catch (error) {
  if (!(error instanceof ClientError)) throw error;
  console.error(`${error.message} (${error.code})`);
  if (error.code === 'download_quota_exceeded' || error.code === 'overage_cap_reached')
    console.error('Nothing was charged. Try again when the next period begins.');
  process.exitCode = 1;
}
