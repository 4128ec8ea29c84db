import { Option } from 'commander';
import type { Command } from 'commander';
import { createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sleep } from '../async/sleep.ts';
import type { ApiClient } from '../client/client.ts';
import type { components, paths } from '../client/paths.ts';
import { StatusRefused, waitForDownload } from '../client/wait-for-download.ts';
import { CommandFailed, print } from './output.ts';
import type { Output } from './output.ts';
import { lineStart } from './progress-bar.ts';
import { audioFormats, formats, maxItem, qualities } from '../domain/download-options.ts';
import { wholeArgument } from './arguments.ts';

type DownloadRequest = paths['/video/download']['post']['requestBody']['content']['application/json'];
type Status = paths['/video/status']['get']['responses'][200]['content']['application/json']['data'];
type Done = components['schemas']['DownloadDone'];

/** Opens the API as the owner of a key. @throws {CommandFailed} where there is no key, {ConfigurationRefused} no address */
export type OpenApiClient = () => { api: ApiClient; newUuid: () => string };

interface DownloadOptions {
  out: string;
  format?: (typeof formats)[number];
  quality?: (typeof qualities)[number];
  audioFormat?: (typeof audioFormats)[number];
  item?: number;
}

/** `reeltally download`: the one command that is a client like any other, and speaks to nothing but the API. */
export function addDownload(program: Command, output: Output, openApiClient: OpenApiClient): void {
  program
    .command('download')
    .description('queue a download, wait for it, and save the file; the API key is taken from REELTALLY_KEY')
    .argument('<url>', 'address of the video')
    .requiredOption('-o, --out <file>', 'file to save the video to')
    .addOption(new Option('--format <format>', 'a video file, or the sound alone').choices(formats))
    .addOption(new Option('--quality <quality>', "the picture's smaller side in pixels").choices(qualities))
    .addOption(new Option('--audio-format <format>', 'file type of the sound').choices(audioFormats))
    .option('--item <number>', 'number of the still in an image post', wholeArgument(1, maxItem))
    .action(async (url: string, { out, audioFormat, ...more }: DownloadOptions) => {
      const request = { url, ...more, ...(audioFormat && { audio_format: audioFormat }) };
      await downloadCommand({ output, ...openApiClient() }, request, out);
    });
}

interface Downloading extends ReturnType<OpenApiClient> {
  output: Output;
}

const attempts = 5;
const longestPauseSeconds = 30;

/** As a client outside does: queues the download, waits for its end, and saves the file. */
async function downloadCommand(
  { output, api, newUuid }: Downloading,
  request: DownloadRequest,
  file: string,
): Promise<void> {
  const incomplete = `${file}.part`;
  // Before anything is charged: a file that cannot be written is no reason to queue.
  const target = createWriteStream(incomplete);
  await new Promise<void>((resolve, reject) => {
    target.once('open', () => resolve()).once('error', reject);
  }).catch((error: unknown) => {
    throw new CommandFailed(`${file} cannot be written: ${(error as Error).message}`);
  });
  try {
    // One key for all attempts: however often the request is sent, it is queued and charged once.
    const header = { 'Idempotency-Key': newUuid() };
    const queued = await answered(() => api.POST('/video/download', { params: { header }, body: request }));
    const { file_size_bytes, file_mime } = await fetched(api, queued.request_token, { output, target });
    await rename(incomplete, file);
    const text = `${file}: ${String(file_size_bytes)} bytes, ${file_mime}`;
    print(output, { request_token: queued.request_token, file, file_size_bytes, file_mime }, text);
  } finally {
    target.destroy();
    await rm(incomplete, { force: true });
  }
}

/** Waits for the end and saves the file. @throws {CommandFailed} with the token, by which a charged download is found again */
async function fetched(
  api: ApiClient,
  token: string,
  { output, target }: { output: Output; target: WriteStream },
): Promise<Done> {
  const show = showing(output);
  try {
    const done = await end(api, token, show);
    await save(done, target);
    return done;
  } catch (error) {
    throw error instanceof CommandFailed ? new CommandFailed(`${error.message}; request token ${token}`) : error;
  } finally {
    show('');
  }
}

/** On a terminal, a line that is gone in the end. */
function showing({ terminal, tell }: Output): (state: string) => void {
  return terminal ? (state) => tell(`${lineStart}${state}`) : () => undefined;
}

interface Answer<Data> {
  data?: { data: Data };
  error?: { error: { code: string; message: string } };
  response: Response;
}

/** Asks until there is an answer that counts. @throws {CommandFailed} with what the API says, or that it is away */
async function answered<Data>(ask: () => Promise<Answer<Data>>): Promise<Data> {
  for (let attempt = 1; ; attempt += 1) {
    const { data, error, response } = await reached(ask);
    if (data) return data.data;
    const waitSeconds = Number(response.headers.get('retry-after') ?? Infinity);
    if (error && (attempt === attempts || waitSeconds > longestPauseSeconds)) throw refusalOf(error.error);
    await sleep(waitSeconds * 1000);
  }
}

/** Tries again where no connection can be made, or is lost. */
async function reached<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (failure) {
      // fetch throws this where there is no connection; any other error is an answer.
      if (!(failure instanceof TypeError)) throw failure;
      if (attempt === attempts)
        throw new CommandFailed(`the API does not answer at REELTALLY_URL: ${causeOf(failure)}`);
      await sleep(attempt * 1000);
    }
  }
}

const refusalOf = ({ code, message }: { code: string; message: string }) => new CommandFailed(`${message} (${code})`);

function causeOf(failure: unknown): string {
  const { cause, message } = failure as { cause?: { code?: string }; message?: string };
  return cause?.code ?? message ?? String(failure);
}

/** Waits until a download has ended. @throws {CommandFailed} with the reason of one that failed */
async function end(api: ApiClient, token: string, show: (state: string) => void): Promise<Done> {
  const onStatus = (status: Status) => {
    show(`${status.status}${'progress' in status ? progressText(status.progress) : ''}`);
  };
  const ended = await reached(() => waitForDownload(api, token, { onStatus })).catch((error: unknown) => {
    throw error instanceof StatusRefused ? refusalOf(error) : error;
  });
  if (ended.status === 'done') return ended;
  throw refusalOf({ code: ended.error, message: ended.message });
}

const progressText = (progress: { percent: number | null } | undefined) =>
  typeof progress?.percent === 'number' ? ` ${String(Math.floor(progress.percent))} %` : '';

async function save({ download_url: url, file_size_bytes: size }: Done, target: WriteStream): Promise<void> {
  const response = await fetch(url).catch((failure: unknown) => {
    throw new CommandFailed(`the link to the file does not answer: ${causeOf(failure)}`);
  });
  if (!response.ok || !response.body)
    throw new CommandFailed(`the link to the file answers ${String(response.status)}`);
  await pipeline(Readable.fromWeb(response.body), target).catch((failure: unknown) => {
    throw new CommandFailed(`the transfer of the file broke off: ${causeOf(failure)}`);
  });
  const { bytesWritten } = target;
  if (bytesWritten !== size) throw new CommandFailed(`the file has ${String(bytesWritten)} bytes, not ${String(size)}`);
}
