import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { accountIdPattern, staffText } from '../domain/account-events.ts';
import { correctionReference } from '../domain/usage-events.ts';

/** What is typed at the command line, read into what commands take; whatever cannot be read is refused with an example. */

export function accountIdArgument(value: string): string {
  if (!accountIdPattern.test(value)) throw new InvalidArgumentError('an account id begins with acc_');
  return value;
}

export function dayArgument(value: string): string {
  const day = new Date(`${value}T00:00:00.000Z`);
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== value) {
    throw new InvalidArgumentError('a day is written like 2026-11-21');
  }
  return value;
}

const mostCents = 1_000_000_000_000;

export function centsArgument(value: string): number {
  if (!/^\d{1,13}$/.test(value) || Number(value) > mostCents) {
    throw new InvalidArgumentError(`${value} is not a number of cents: give a whole number such as 5000`);
  }
  return Number(value);
}

export function centsOrNoneArgument(value: string): number | 'none' {
  if (value === 'none') return value;
  try {
    return centsArgument(value);
  } catch {
    throw new InvalidArgumentError(`${value} is not a number of cents: give a whole number such as 5000, or none`);
  }
}

export const wholeArgument =
  (least: number, most: number) =>
  (value: string): number => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most)) {
      throw new InvalidArgumentError(`give a whole number from ${String(least)} to ${String(most)}`);
    }
    return number;
  };

const largestPage = 1000;

/** Of commands that list what may be long. @param key of what is listed, such as "account id" */
export const addPageOptions = (command: Command, key: string): Command =>
  command
    .option('--limit <number>', 'how many at most', wholeArgument(1, largestPage), 50)
    .option(`--after <${key}>`, 'go on behind this one, as the page before says');

export function instantArgument(value: string): string {
  const instant = new Date(value);
  if (!/^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(value) || Number.isNaN(instant.getTime())) {
    throw new InvalidArgumentError('a day is written like 2026-11-21, an instant like 2026-11-21T09:30:00Z');
  }
  return instant.toISOString();
}

export const effectiveOption = (usual: string): Option =>
  new Option('--effective <when>', `now, or with the next billing period (default: ${usual})`).choices(['now', 'next']);

/** At least one cent: what is given back. */
export function amountArgument(value: string): number {
  const amountCents = centsArgument(value);
  if (amountCents === 0) throw new InvalidArgumentError('give at least 1 cent');
  return amountCents;
}

/** A case or ticket, under which a correction is made once. */
export function referenceArgument(value: string): string {
  if (correctionReference.safeParse(value).success) return value;
  throw new InvalidArgumentError(
    'a reference is up to 100 letters, digits and signs without spaces, such as case-1234',
  );
}

/** Who decides something, or why: kept in the log for ever. */
export function staffTextArgument(value: string): string {
  if (staffText.safeParse(value).success) return value;
  throw new InvalidArgumentError('give up to 500 characters, without control characters');
}

/** How long a query over whole tables may take, in milliseconds. */
export const wholeTableMs = 3_600_000;
