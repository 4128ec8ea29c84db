import { destination, pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
import { lineStart } from '../cli/progress-bar.ts';
import type { Config } from './settings/config.ts';
import { logText } from './log-text.ts';

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
  standardError: DestinationStream = destination({ dest: 2, sync: true }),
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
