import { levels } from 'pino';
import { printable } from './printable.ts';

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
export function logText(json: string): string {
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
