import { type Command, InvalidArgumentError } from 'commander';
import { accountIdPattern, staffText } from '../domain/account-events.ts';
import type { Actor } from '../domain/parse-event.ts';
import { caseReference } from '../domain/usage-events.ts';

/** Parsers of arguments and options: each refuses a value that it cannot read, with an example of one that it can. */

export function accountIdArgument(value: string): string {
  if (!accountIdPattern.test(value))
    throw new InvalidArgumentError('an account id is acc_ and 16 to 32 lower-case letters and digits');
  return value;
}

export function dayArgument(value: string): string {
  const day = new Date(`${value}T00:00:00.000Z`);
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== value) {
    throw new InvalidArgumentError('write a day like 2026-11-21');
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

export const fromOneArgument = wholeArgument(1, 1_000_000);

const largestPage = 1000;

/** Options of a command that lists a page at a time. @param key name of the list's key, such as "account" */
export const addPageOptions = (command: Command, key: string): Command =>
  command
    .option('--limit <number>', 'maximum number of rows', wholeArgument(1, largestPage), 50)
    .option(`--after <${key}>`, 'show the rows after this one; the page before prints it');

export function instantArgument(value: string): string {
  const instant = new Date(value);
  if (!/^\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?$/.test(value) || Number.isNaN(instant.getTime())) {
    throw new InvalidArgumentError('write a day like 2026-11-21, or an instant like 2026-11-21T09:30:00Z');
  }
  return instant.toISOString();
}

/** A time, or the position of an event in the log. */
export function momentArgument(value: string): { time: string } | { position: bigint } {
  if (/^\d{1,19}$/.test(value)) return { position: BigInt(value) };
  try {
    return { time: instantArgument(value) };
  } catch {
    throw new InvalidArgumentError(
      'write an instant like 2026-11-21T09:30:00Z, a day like 2026-11-21, or the position of an event, a whole number',
    );
  }
}

/** An amount to give back: at least one cent. */
export function amountArgument(value: string): number {
  const amountCents = centsArgument(value);
  if (amountCents === 0) throw new InvalidArgumentError('give at least 1 cent');
  return amountCents;
}

/** A case or ticket, under which a correction is made once. */
export function referenceArgument(value: string): string {
  if (caseReference.safeParse(value).success) return value;
  throw new InvalidArgumentError(
    'a reference is up to 100 letters, digits and signs without spaces, such as case-1234',
  );
}

/** Who corrects or acknowledges something, and why: the log keeps it for ever. */
export interface StaffDecision {
  reason: string;
  /** Case or ticket. */
  reference: string;
  /** The member of staff who decides. */
  by: string;
}

/** @param reason description of `--reason` */
export const addDecisionOptions = (command: Command, reason: string, reference = 'case or ticket'): Command =>
  command
    .requiredOption('--reason <text>', reason, staffTextArgument)
    .requiredOption('--reference <reference>', reference, referenceArgument)
    .requiredOption('--by <name>', 'the member of staff who decides it', staffTextArgument);

export const staffActor = ({ by, reason }: Pick<StaffDecision, 'by' | 'reason'>) =>
  ({ type: 'staff', id: by, role: 'operator', reason }) as const;

/** Who orders something at the command line that gives nothing back, and why. */
export interface DecidedBy {
  by?: string;
  reason?: string;
}

export const addByOptions = (command: Command): Command =>
  command
    .option('--by <name>', 'who decides it (default: the user of this machine)', staffTextArgument)
    .option('--reason <text>', 'why', staffTextArgument);

/** As `addByOptions`, for what people are told the reason of. */
export const addReasonOptions = (command: Command): Command =>
  command
    .requiredOption('--reason <text>', 'why; the log keeps it', staffTextArgument)
    .option('--by <name>', 'who decides it (default: the user of this machine)', staffTextArgument);

/** Nobody signs in at the command line: the role says so. */
export const operatorOf = (actor: Actor, { by = actor.id, reason = 'command line' }: DecidedBy) =>
  staffActor({ by, reason });

function staffTextArgument(value: string): string {
  if (staffText.safeParse(value).success) return value;
  throw new InvalidArgumentError(
    'give up to 500 characters, without control characters and signs that turn the direction of writing',
  );
}
