#!/usr/bin/env node
/** The program of the package: one request of each kind from a shell. */

import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type ApiClient, createApiClient } from './client.ts';
import { ClientError, textOf } from './client-error.ts';
import { type DownloadRequest, downloadToFile } from './download-to-file.ts';
import { interruptible } from './interruption.ts';
import type { DownloadStatus } from './wait-for-download.ts';
import { sendWithRetries } from './with-retries.ts';

const help = `Usage:
  reeltally-client metadata <url>
  reeltally-client download <url> --out <file> [options]
  reeltally-client credits

Answers are JSON on standard output. The address of the API is taken from REELTALLY_URL, such as
https://api.example.com, and the API key from REELTALLY_KEY: an argument is seen by every user of the machine.

Options of download:
  -o, --out <file>            file to save the video to; replaces an existing file
  --format <format>           video or audio
  --quality <quality>         the picture's smaller side in pixels, such as 720, or best
  --audio-format <format>     mp3 or m4a
  --item <number>             number of the still in an image post
  --idempotency-key <key>     the same key for the same download is charged once; a new one unless given

Exit codes: 0 done; 1 refused, failed or not reached; 2 wrong words or settings.
`;

class WrongUsage extends Error {}

const options = {
  help: { type: 'boolean', short: 'h' },
  out: { type: 'string', short: 'o' },
  format: { type: 'string' },
  quality: { type: 'string' },
  'audio-format': { type: 'string' },
  item: { type: 'string' },
  'idempotency-key': { type: 'string' },
} as const;

type Given = ReturnType<typeof readWords>['values'];

function readWords() {
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new WrongUsage((error as Error).message);
  }
}

/** @returns the answer for standard output; undefined for help */
async function run(): Promise<object | undefined> {
  const { values, positionals } = readWords();
  const [command, url, ...more] = positionals;
  if (values.help === true) return undefined;
  if (command === 'credits' && url === undefined) {
    const api = openApi();
    return await sendWithRetries(() => api.GET('/credits'));
  }
  if (url === undefined || more.length > 0) throw new WrongUsage('--help shows the commands and their arguments');
  if (command === 'metadata') {
    const api = openApi();
    return await sendWithRetries(() => api.GET('/video/metadata', { params: { query: { url } } }));
  }
  if (command === 'download') return await download(url, values);
  throw new WrongUsage(`there is no command ${String(command)}`);
}

async function download(url: string, given: Given): Promise<object> {
  const { out: file, 'audio-format': audioFormat, 'idempotency-key': idempotencyKey = randomUUID() } = given;
  if (file === undefined) throw new WrongUsage('--out names the file to save the video to');
  // The API checks the values: it may be newer than an installed client.
  const request = {
    url,
    ...(given.format !== undefined && { format: given.format }),
    ...(given.quality !== undefined && { quality: given.quality }),
    ...(audioFormat !== undefined && { audio_format: audioFormat }),
    ...(given.item !== undefined && { item: Number(given.item) }),
  } as DownloadRequest;
  const onStatus = ({ status }: DownloadStatus) => show(status === 'done' ? '' : status);
  const { request_token, file_size_bytes, file_mime } = await interruptible((signal) =>
    downloadToFile(openApi(), request, file, { idempotencyKey, ...(process.stderr.isTTY && { onStatus }), signal }),
  );
  return { request_token, file, file_size_bytes, file_mime };
}

/** A person sees how far a download is, on a line that the next text replaces. */
function show(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function openApi(): ApiClient {
  const { REELTALLY_URL: url = '', REELTALLY_KEY: key = '' } = process.env;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new WrongUsage('set REELTALLY_URL to the address of the API, such as https://api.example.com');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') throw new WrongUsage('REELTALLY_URL must have no user and password');
  if (key === '') throw new WrongUsage('set REELTALLY_KEY to an API key');
  return createApiClient(url.replace(/\/+$/, ''), key);
}

try {
  const answer = await run();
  process.stdout.write(answer === undefined ? help : `${JSON.stringify(answer, null, 2)}\n`);
} catch (error) {
  show('');
  if (!(error instanceof ClientError || error instanceof WrongUsage)) throw error;
  const isRefused = error instanceof ClientError;
  process.stderr.write(`reeltally-client: ${isRefused ? textOf(error) : error.message}\n`);
  process.exitCode = isRefused ? 1 : 2;
}
