import { type DestinationStream, type Logger, pino } from 'pino';
import { lineStart } from '../cli/progress-bar.ts';
import { createLogOutput, type LogOutput } from './log-output.ts';
import { logText } from './log-text.ts';
import type { Config } from './settings/config.ts';

/** Fields that could hold a key, a link or a password; addresses of servers are never logged. */
const secretPaths = [
  'authorization',
  'headers.authorization',
  'req.headers.authorization',
  'headers.cookie',
  'req.headers.cookie',
  'key',
  'secret',
  'password',
  'url',
  'download_url',
  'connectionString',
  'err.connectionString',
];

/** Logs go to standard error: standard output is for answers. A terminal gets text, a program JSON. */
export function createLogger(
  { LOG_LEVEL }: Config,
  role: string,
  defaultLevel: 'info' | 'warn',
  standardError: DestinationStream,
): Logger {
  const terminal = { write: (line: string) => standardError.write(lineStart + logText(line)) };
  return pino(
    {
      level: LOG_LEVEL ?? defaultLevel,
      base: { role, pid: process.pid },
      redact: { paths: secretPaths, censor: '[redacted]' },
    },
    process.stderr.isTTY ? terminal : standardError,
  );
}

export interface ServiceLog {
  logger: Logger;
  output: LogOutput;
}

/** The log of a service, which never waits for its reader. */
export function createServiceLog(config: Config, role: string): ServiceLog {
  const output = createLogOutput(process.stderr, (lines) => {
    logger.warn({ lines }, 'log lines are missing here, because nobody read them');
  });
  const logger: Logger = createLogger(config, role, role === 'all' ? 'warn' : 'info', output);
  return { logger, output };
}
