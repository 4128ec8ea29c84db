import { type Command, Option } from 'commander';
import type { ApiClient } from '../client/client.ts';
import { ClientError, textOf } from '../client/client-error.ts';
import { type DownloadRequest, downloadToFile } from '../client/download-to-file.ts';
import { interruptible } from '../client/interruption.ts';
import type { DownloadStatus } from '../client/wait-for-download.ts';
import type { Pause } from '../client/with-retries.ts';
import { audioFormats, formats, maxItem, qualities } from '../domain/download-options.ts';
import { wholeArgument } from './arguments.ts';
import { CommandFailed, type Output, print } from './output.ts';
import { replacesFile } from './output-file.ts';
import { lineStart } from './progress-bar.ts';

/** Opens the API as the owner of a key. @throws {CommandFailed} where there is no key, {ConfigurationRefused} no address */
export type OpenApiClient = () => { api: ApiClient; newUuid: () => string };

interface DownloadOptions {
  out: string;
  format?: (typeof formats)[number];
  quality?: (typeof qualities)[number];
  audioFormat?: (typeof audioFormats)[number];
  item?: number;
  idempotencyKey?: string;
}

/** `reeltally download`: the one command that is a client like any other, and speaks to nothing but the API. */
export function addDownload(program: Command, output: Output, openApiClient: OpenApiClient): void {
  program
    .command('download')
    .description('queue a download, wait for it, and save the file; the API key is taken from REELTALLY_KEY')
    .argument('<url>', 'address of the video')
    .requiredOption('-o, --out <file>', `file to save the video to; ${replacesFile}`)
    .addOption(new Option('--format <format>', 'a video file, or the sound alone').choices(formats))
    .addOption(new Option('--quality <quality>', "the picture's smaller side in pixels").choices(qualities))
    .addOption(new Option('--audio-format <format>', 'file type of the sound').choices(audioFormats))
    .option('--item <number>', 'number of the still in an image post', wholeArgument(1, maxItem))
    .option('--idempotency-key <key>', 'the same key for the same download is charged once; a new one unless given')
    .action(async (url: string, { out, audioFormat, idempotencyKey, ...more }: DownloadOptions) => {
      const request = { url, ...more, ...(audioFormat && { audio_format: audioFormat }) };
      const { api, newUuid } = openApiClient();
      await downloadCommand({ output, api, idempotencyKey: idempotencyKey ?? newUuid() }, request, out);
    });
}

interface Downloading {
  output: Output;
  api: ApiClient;
  idempotencyKey: string;
}

/** As a client outside does, with what the package for clients has for it. @throws {CommandFailed} with the token, if queued */
async function downloadCommand(
  { output, api, idempotencyKey }: Downloading,
  request: DownloadRequest,
  file: string,
): Promise<void> {
  const show = showing(output);
  const onStatus = (status: DownloadStatus) => {
    show(`${status.status}${waitsFor[status.status]}${'progress' in status ? progressText(status.progress) : ''}`);
  };
  const onPause = ({ seconds, why }: Pause) => {
    const text = `waiting ${String(seconds)} s: ${why}`;
    if (output.terminal) show(text);
    else if (seconds >= toldPauseSeconds) output.tell(`reeltally: ${text}\n`);
  };
  try {
    const saved = await interruptible((signal) =>
      downloadToFile(api, request, file, { idempotencyKey, ...(output.terminal && { onStatus }), onPause, signal }),
    );
    const { request_token, file_size_bytes, file_mime } = saved;
    show('');
    const text = `${file}: ${String(file_size_bytes)} bytes, ${file_mime}`;
    print(output, { request_token, file, file_size_bytes, file_mime }, text);
  } catch (error) {
    show('');
    if (!(error instanceof ClientError)) throw error;
    throw new CommandFailed(textOf(error));
  }
}

/** Shorter ones are told on a terminal alone. */
const toldPauseSeconds = 5;

/** What a download of each status waits for. */
const waitsFor: Record<DownloadStatus['status'], string> = {
  queued: ': waiting for a free worker',
  claimed: ': a worker has it, and is starting the download',
  running: ': the worker is fetching the video',
  done: ': fetching the file',
  failed: '',
};

/** On a terminal, a line that is gone in the end. */
function showing({ terminal, tell }: Output): (state: string) => void {
  return terminal ? (state) => tell(`${lineStart}${state}`) : () => undefined;
}

const progressText = (progress: { percent: number | null } | undefined) =>
  typeof progress?.percent === 'number' ? ` ${String(Math.floor(progress.percent))} %` : '';
