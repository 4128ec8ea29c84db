import pMap from 'p-map';
import type { Pool } from 'pg';
import { readCredits, readNewestCredits } from '../../projections/credits.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import {
  type DueInvoices,
  type DuePeriod,
  listAccountsToClose,
  listInvoicesDue,
  listPeriodsToClose,
  listPeriodsToRollOver,
} from '../../projections/work-lists/due-periods.ts';
import { beginClosing } from '../../projections/work-lists/pending-void-gate.ts';
import type { Background } from '../async/background.ts';
import { recordClosing } from '../commands/accounts.ts';
import { closePeriod, type ClosingRound } from '../commands/close-period.ts';
import type { CommandDependencies } from '../commands/handler/dependencies.ts';
import { ownCause } from '../commands/handler/event-metadata.ts';
import { issueInvoice } from '../commands/issue-invoice.ts';
import { usageOrigin } from '../commands/usage/usage-cache.ts';
import { usageFromLog } from '../commands/usage/usage-from-log.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import type { InvoiceIssued } from '../domain/invoice-events.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import { servicePart } from '../ports/service-parts.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

export interface ClosePeriodsDependencies extends CommandDependencies, LoopDependencies {
  pool: Pool;
  macs: RowMacs;
  writers: WriterRegistry;
  /** How long after its end the charges of a period may still change. */
  graceSeconds: number;
}

/** Streams that are left alone until then, in milliseconds of `performance.now()`: so nobody waits behind what does not work. */
export type SetAside = Map<string, number>;

const defaultEveryMs = 5_000;
const setAsideMs = 60_000;
const maxPeriods = 500;
const accountsAtOnce = 8;
const stepTimeoutMs = 5_000;
const actor = { type: 'system', id: 'billing-period' } as const;

/**
 * The clock of the books: ends the periods whose time is over and opens the next ones, whether or not anybody asks for
 * anything; closes those whose grace is over, and invoices them. It finds them by the read model and decides on their streams
 * at the exact revision: a round that is behind, or two at once, change nothing that is right.
 */
export function startClosingPeriods(dependencies: ClosePeriodsDependencies): Background {
  const pending = servicePart(dependencies, 'the closing of periods with pending voids');
  const setAside: SetAside = new Map();
  const round = async ({ part }: InRound<ClosePeriodsDependencies>, stopping: AbortSignal) => {
    const { failed, heldUp } = await closePeriods(dependencies, { setAside, stopping });
    for (const { stream, error } of failed) part.failed('a step of a period', error, { stream });
    for (const stream of heldUp) pending.failed('a period waits for pending voids', undefined, { stream });
    if (heldUp.length === 0) pending.works();
  };
  return startLoop('the closing of periods', dependencies, round, defaultEveryMs);
}

/**
 * One round: at most so many periods of each kind, one step of each account.
 *
 * @throws when log or read model is away, or the time is not known for certain
 */
export async function closePeriods(
  dependencies: ClosePeriodsDependencies,
  { setAside, stopping }: { setAside: SetAside; stopping?: AbortSignal },
): Promise<ClosingRound> {
  const { pool, store, now, graceSeconds } = dependencies;
  const done: ClosingRound = { rolledOver: [], closed: [], issued: [], heldUp: [], inGrace: [], failed: [] };
  const look = { ...wanted(setAside), now: now() };
  // With the log away every account would wait for it in turn.
  await store.headPosition();
  const endedBefore = new Date(Date.parse(look.now) - graceSeconds * 1_000).toISOString();
  const steps: [readonly DuePeriod[], (period: DuePeriod) => Promise<void>][] = [
    // Leftovers of a crash come first.
    [await listAccountsToClose(pool, look), (period) => recordClosingOf(dependencies, period)],
    [await listInvoicesDue(pool, look), (period) => invoice(dependencies, period as DueInvoices, done)],
    [await listPeriodsToRollOver(pool, look), (period) => rollOver(dependencies, period, done)],
    [
      await listPeriodsToClose(pool, { ...look, endedBefore }),
      (period) => close(dependencies, period, { done, setAside }),
    ],
  ];
  for (const [periods, step] of steps) {
    await eachAccount(periods, stopping, async (period) => {
      await step(period).catch((error: unknown) => {
        setAside.set(period.stream, performance.now() + setAsideMs);
        done.failed.push({ stream: period.stream, error });
        throw error;
      });
    });
  }
  return done;
}

function wanted(setAside: SetAside): { except: string[]; limit: number } {
  for (const [stream, untilMs] of setAside) if (performance.now() >= untilMs) setAside.delete(stream);
  return { except: [...setAside.keys()], limit: maxPeriods };
}

/** Several accounts at a time, the periods of one in their order; what fails ends the turn of its own account alone. */
async function eachAccount(
  periods: readonly DuePeriod[],
  stopping: AbortSignal | undefined,
  step: (period: DuePeriod) => Promise<void>,
): Promise<void> {
  const accounts = Map.groupBy(periods, ({ account_id: accountId }) => accountId).values();
  const walk = async (ofAccount: readonly DuePeriod[]) => {
    if (stopping?.aborted) return;
    try {
      for (const period of ofAccount) await step(period);
    } catch {
      // It is in the round's report.
    }
  };
  await pMap(accounts, walk, { concurrency: accountsAtOnce });
}

async function recordClosingOf(
  dependencies: ClosePeriodsDependencies,
  { account_id: accountId }: DuePeriod,
): Promise<void> {
  const request = { correlationId: dependencies.newUuid(), actor, timeoutMs: stepTimeoutMs };
  await recordClosing(dependencies, { accountId, ...request });
}

async function rollOver(
  { store, pool, macs, writers, newUuid }: ClosePeriodsDependencies,
  { account_id: accountId, stream }: DuePeriod,
  { rolledOver }: ClosingRound,
): Promise<void> {
  const row = await readNewestCredits(pool, accountId, macs);
  if (!row) return;
  const request = {
    cause: ownCause(newUuid(), actor),
    deadlineMs: performance.now() + stepTimeoutMs,
  };
  const snapshot = row === notBelieved ? (await usageFromLog({ store, writers }, accountId, request))?.origin : row;
  if (!snapshot) throw new Error(`the usage of ${accountId} could not be read in time`);
  const { outcome } = await writers.ask(accountId, { ...request, command: { kind: 'roll_over' }, snapshot });
  if (outcome !== 'accepted') throw new Error(`the period after ${stream} could not be opened: ${outcome}`);
  rolledOver.push(stream);
}

async function close(
  dependencies: ClosePeriodsDependencies,
  { stream }: DuePeriod,
  { done, setAside }: { done: ClosingRound; setAside: SetAside },
): Promise<void> {
  const { pool, macs, now, graceSeconds } = dependencies;
  const row = await readCredits(pool, stream, macs);
  if (!row) return;
  const snapshot = row === notBelieved ? usageOrigin(stream) : row;
  const closing = await closePeriod(
    { ...dependencies, closings: { begin: (closed) => beginClosing(pool, closed) } },
    { snapshot, graceSeconds, actor, timeoutMs: stepTimeoutMs },
  );
  if (closing.outcome === 'closed') {
    done.closed.push(stream);
    await issue(dependencies, { stream, covers: 'period' }, done);
    return;
  }
  if (closing.outcome === 'held_up') done.heldUp.push(stream);
  else done.inGrace.push({ stream, until: closing.notBefore });
  const waitMs = closing.outcome === 'held_up' ? setAsideMs : Date.parse(closing.notBefore) - Date.parse(now());
  setAside.set(stream, performance.now() + Math.min(waitMs, setAsideMs));
}

async function invoice(
  dependencies: ClosePeriodsDependencies,
  { stream, opening_invoice_due: opening, period_invoice_due: period }: DueInvoices,
  done: ClosingRound,
): Promise<void> {
  if (opening) await issue(dependencies, { stream, covers: 'opening' }, done);
  if (period) await issue(dependencies, { stream, covers: 'period' }, done);
}

async function issue(
  dependencies: ClosePeriodsDependencies,
  due: { stream: string; covers: InvoiceIssued['covers'] },
  { issued }: ClosingRound,
): Promise<void> {
  const issuedNow = await issueInvoice(dependencies, { ...due, actor, timeoutMs: stepTimeoutMs });
  if (issuedNow) issued.push(issuedNow);
}
