import { Option } from 'commander';
import type { Command } from 'commander';
import { newUuid } from '../system/clock-and-chance.ts';
import { downloadCommand } from '../cli/download.ts';
import { CommandFailed } from '../cli/output.ts';
import type { Output } from '../cli/output.ts';
import { createApiClient } from '../client/client.ts';
import { audioFormats, formats, maxItem, qualities } from '../domain/download-options.ts';
import { wholeArgument } from './arguments.ts';
import { readConfig } from './settings/config.ts';
import { findApi } from './settings/instance.ts';

interface DownloadOptions {
  out: string;
  format?: (typeof formats)[number];
  quality?: (typeof qualities)[number];
  audioFormat?: (typeof audioFormats)[number];
  item?: number;
}

/** `reeltally download`: the one command that is a client like any other, and speaks to nothing but the API. */
export function addDownloadCommand(program: Command, createOutput: () => Output): void {
  program
    .command('download')
    .description('queue a download, wait for it, and save the file; the API key is taken from REELTALLY_KEY')
    .argument('<url>', 'address of the video')
    .requiredOption('-o, --out <file>', 'where to save it')
    .addOption(new Option('--format <format>', 'a film, or the sound alone').choices(formats))
    .addOption(new Option('--quality <quality>', "the picture's smaller side in pixels").choices(qualities))
    .addOption(new Option('--audio-format <format>', 'what sound becomes').choices(audioFormats))
    .option('--item <number>', 'which still of an image post', wholeArgument(1, maxItem))
    .action(async (url: string, { out, audioFormat, ...more }: DownloadOptions) => {
      const config = readConfig();
      const key = config.REELTALLY_KEY;
      if (key === undefined) throw new CommandFailed('set REELTALLY_KEY to an API key: "npm start" prints one');
      const cli = { output: createOutput(), api: createApiClient(findApi(config), key), newUuid };
      await downloadCommand(cli, { url, ...more, ...(audioFormat && { audio_format: audioFormat }) }, out);
    });
}
