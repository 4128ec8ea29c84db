import { type DestinationStream, levels, type Logger, pino } from 'pino';
import { lineStart } from '../cli/progress-bar.ts';
import { printable } from '../documents/text.ts';
import { createLogOutput, type LogOutput } from './log-output.ts';
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

const errorLevel = 50;

interface LogLine {
  level: number;
  time: number;
  role: string;
  msg?: string;
  err?: { message?: string; stack?: string };
  [fact: string]: unknown;
}

/** A line of the log for people, with the same facts as the JSON, after secrets were redacted. */
function logText(json: string): string {
  const { level, time, role, pid: _pid, msg = '', err, ...facts } = JSON.parse(json) as LogLine;
  const clock = new Date(time).toISOString().slice(11, 19);
  const told = Object.entries(facts).map(([name, value]) => `${name} ${valueText(value)}`);
  if (err?.message !== undefined) told.push(`error ${valueText(err.message)}`);
  const detail = told.length === 0 ? '' : ` (${told.join(', ')})`;
  const who = role === 'all' ? '' : `${role}: `;
  const line = printable(`${clock} ${levels.labels[level] ?? String(level)}: ${who}${msg}${detail}`);
  // Below errors are expected outages, whose stacks help nobody.
  const stack = level >= errorLevel ? (err?.stack ?? '').split('\n').slice(1).map(printable) : [];
  return [line, ...stack, ''].join('\n');
}

const valueText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
