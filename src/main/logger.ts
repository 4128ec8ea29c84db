import { destination, pino } from 'pino';
import type { Logger } from 'pino';
import type { Config } from './config.ts';

/** Whatever could hold a key, a link or a password; addresses of engines are never logged. */
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

/** JSON lines on standard error: standard output is for what a person or a program asked for. */
export function createLogger({ LOG_LEVEL }: Config, role: string, defaultLevel: 'info' | 'warn'): Logger {
  return pino(
    {
      level: LOG_LEVEL ?? defaultLevel,
      base: { role, pid: process.pid },
      redact: { paths: secretPaths, censor: '[redacted]' },
    },
    destination({ dest: 2, sync: true }),
  );
}
