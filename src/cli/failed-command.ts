import { CommanderError } from 'commander';
import { CommandFailed } from './output.ts';

/** The end of a command that has failed. */
interface Ending {
  /** Empty where it has been told already. */
  message: string;
  /** For programs. */
  code: 'usage' | 'settings' | 'not_done' | 'not_yet' | 'failed';
  exitCode: number;
}

/** Names of errors whose messages are written for the person at the keyboard. */
const expected = [
  'ClockIsWrong',
  'DataDirectoryRefused',
  'DiskIsFull',
  'ServerEnded',
  'ServerNotStarted',
  'DownloaderUnusable',
  'EventStoreUnavailable',
  'LogReplaced',
  'NotStored',
  'OutcomeUnknown',
  'ReaderRefused',
];

/**
 * A clear sentence for what was to be expected, the whole error for what was not.
 *
 * @param saysJson where people would have been told of wrong words already
 */
export function explain(error: unknown, saysJson: boolean): Ending {
  if (error instanceof CommanderError) return explainUsage(error, saysJson);
  if (error instanceof CommandFailed) {
    const { message, exitCode } = error;
    return { message, code: exitCode === 2 ? 'not_yet' : 'not_done', exitCode };
  }
  if (!(error instanceof Error)) return { message: String(error), code: 'failed', exitCode: 1 };
  if (error.name === 'ConfigurationRefused') return { message: error.message, code: 'settings', exitCode: 1 };
  const message = expected.includes(error.name) ? error.message : (error.stack ?? error.message);
  return { message, code: 'failed', exitCode: 1 };
}

/** People have been told already, with a hint at --help. */
function explainUsage({ code, message, exitCode }: CommanderError, saysJson: boolean): Ending {
  const isTold = exitCode === 0 || !saysJson;
  const text = code === 'commander.help' ? 'name a command; --help lists them' : message.replace(/^error: /, '');
  return { message: isTold ? '' : text, code: 'usage', exitCode };
}

/** As a shell tells of a program that SIGPIPE has ended; Node ignores the signal. */
const brokenPipe = 128 + 13;

/** The reader of our output may stop (`| head`): then the program ends, and nothing is wrong. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(brokenPipe);
      throw error;
    });
  }
}
