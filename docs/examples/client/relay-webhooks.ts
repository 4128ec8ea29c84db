/**
 * Sends a webhook of your own for each download that ends, on Node 24 or newer:
 *
 *     REELTALLY_URL=https://api.example.com REELTALLY_KEY=rtk_… WEBHOOK_URL=https://you.example.com/hook \
 *       WEBHOOK_SECRET=whsec_… node relay-webhooks.ts CURSOR_FILE
 *
 * It runs beside your programs and takes one request of the key's hourly limit for whatever ends meanwhile. The service itself never
 * calls an address of yours. Webhooks are signed as https://www.standardwebhooks.com says; WEBHOOK_SECRET is `whsec_` and the
 * base64 of 24 to 64 random bytes. CURSOR_FILE keeps the place: a program that was stopped goes on there. Each webhook comes at
 * least once, with the same `webhook-id` each time, and its link is valid for an hour.
 */
import { createHmac } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createApiClient } from '@reeltally/client';
import { ClientError } from '@reeltally/client/client-error';
import { type DownloadEvents, followDownloads } from '@reeltally/client/follow-downloads';

const { REELTALLY_URL, REELTALLY_KEY, WEBHOOK_URL, WEBHOOK_SECRET = '' } = process.env;
const [cursorFile] = process.argv.slice(2);
if (!REELTALLY_URL || !REELTALLY_KEY || !WEBHOOK_URL || !WEBHOOK_SECRET.startsWith('whsec_') || !cursorFile) {
  console.error(
    'usage: REELTALLY_URL=… REELTALLY_KEY=… WEBHOOK_URL=… WEBHOOK_SECRET=whsec_… relay-webhooks.ts CURSOR_FILE',
  );
  process.exit(2);
}
const secret = Buffer.from(WEBHOOK_SECRET.slice('whsec_'.length), 'base64');
const pausesSeconds = [1, 5, 30, 120];

/** Sends a webhook until the receiver takes it with 2xx. @throws after the last pause; the next start sends it again */
async function send(url: string, event: DownloadEvents['events'][number]): Promise<void> {
  const id = `download_${event.request_token}`;
  const type = event.status === 'done' ? 'download.done' : 'download.failed';
  const body = JSON.stringify({ type, timestamp: `${event.finished_at?.replace(' ', 'T')}Z`, data: event });
  for (const pauseSeconds of [...pausesSeconds, undefined]) {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) }).catch(
      () => undefined,
    );
    await response?.body?.cancel();
    if (response?.ok) {
      console.log(`sent: ${id}`);
      return;
    }
    if (pauseSeconds !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseSeconds * 1_000));
  }
  throw new ClientError('webhook_not_taken', `${url} did not take ${id}`);
}

/** @returns undefined for a file that is not there yet: then it begins with the downloads whose files are kept */
const readCursor = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined);

/** A program that is killed meanwhile leaves the old cursor or the new one. */
async function keepCursor(file: string, cursor: string): Promise<void> {
  await writeFile(`${file}.new`, cursor);
  await rename(`${file}.new`, file);
}

try {
  const api = createApiClient(REELTALLY_URL, REELTALLY_KEY);
  const after = await readCursor(cursorFile);
  for await (const { events, next } of followDownloads(api, after === undefined ? {} : { after })) {
    for (const event of events) await send(WEBHOOK_URL, event);
    // Only now: what was not sent is told again.
    await keepCursor(cursorFile, next);
  }
} catch (error) {
  if (!(error instanceof ClientError)) throw error;
  console.error(`${error.message} (${error.code})`);
  process.exitCode = 1;
}
