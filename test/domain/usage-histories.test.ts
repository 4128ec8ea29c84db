import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { usageStream } from '../../src/domain/billing-period.ts';
import { periodInvoice } from '../../src/domain/invoice-lines.ts';
import { centsOf } from '../../src/domain/usage-events.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import { accountId, given, parsed } from './usage-examples.ts';
import { sum } from './usage-model.ts';
import type { UsageModel } from './usage-model.ts';
import { startOf } from './usage-processes.ts';
import { history, Run } from './usage-run.ts';
import type { History } from './usage-run.ts';

/**
 * Whole histories of an account, decided by processes that do not know of each other, compared step by step with a plain
 * model of the rules; and then the log alone, prefix by prefix.
 */

function runOf(one: History): Run {
  const run = new Run(one);
  for (const taken of one.steps) run.take(taken);
  return run;
}

/** The log alone, event by event: what must hold at every prefix of it. */
function violationsOf({ log }: Run): string[] {
  const violations: string[] = [];
  const tokens = new Set<string>();
  for (const stream of log.streams.keys()) {
    let capCents: number | null = null;
    let cents = 0;
    let downloads = 0;
    const events = log.read(stream).map(({ event }) => event);
    events.forEach((event, index) => {
      const say = (what: string) => violations.push(`${startOf(stream)} ${String(index)} ${event.type}: ${what}`);
      if (event.type === 'UsagePeriodOpened') capCents = event.data.terms.overage_cap_cents;
      if (event.type === 'OverageCapSet' && event.data.effective === 'now') capCents = event.data.overage_cap_cents;
      if (event.type === 'OverageCapRemoved' && event.data.effective === 'now') capCents = null;
      cents += centsOf(event) ?? 0;
      if (cents < 0) say('more given back than charged');
      if (event.type === 'OverageCharged' && cents > (capCents ?? Infinity)) say('over the cap');
      if (event.type !== 'OverageCharged' && event.type !== 'DownloadCreditDebited') return;
      downloads += 1;
      const { token: charged, ordinal } = event.data;
      if (ordinal !== downloads) say('ordinal');
      if (tokens.has(charged)) say('charged twice');
      tokens.add(charged);
      const next = events[index + 1];
      if (next?.type !== 'DownloadQueued' || next.data.token !== charged) say('nothing queued for it');
    });
    const closedAt = events.findIndex(({ type }) => type === 'UsagePeriodClosed');
    if (closedAt >= 0 && closedAt !== events.length - 1)
      violations.push(`${startOf(stream)}: something after the close`);
  }
  return violations;
}

/** A period's stream, folded, against what the model has of it. @returns how many events it has */
function comparePeriod({ log, model }: Run, period: UsageModel['current']): number {
  const stream = usageStream(accountId, period.dates);
  const logged = log.read(stream);
  // The model opens a period as soon as the one before ends; the log does with the next command.
  if (logged.length === 0) return 0;
  const usage = given(...logged.map(({ event }) => event));
  const held = period.downloads.filter(({ voided }) => !voided);
  expect(usage).toMatchObject({
    period: period.dates,
    terms: period.terms,
    downloads: period.downloads.length,
    downloadCredits: held.filter(({ chargedCents }) => chargedCents === 0).length,
    overageDownloads: held.filter(({ chargedCents, waivedCents }) => chargedCents > waivedCents).length,
    overageCents: model.chargedCents(period),
    metadataCredits: period.lookups.length,
    feeCents: sum(period.feesCents),
  });
  if (usage.phase === 'open') expect(usage.capReached).toBe(period.capReached);
  expect(new Set(usage.warned)).toEqual(period.warned);
  expect(usage.warned).toHaveLength(period.warned.size);
  if (period.closed) {
    const events = logged.map(({ id, event }, revision) => ({ ...parsed(event, revision, stream), id }));
    const feesCents = sum(period.feesCents.slice(1)) + (usage.next?.terms.fee_cents ?? 0);
    const invoicedCents = sum(periodInvoice(events).lines.map(({ cents }) => cents));
    expect(invoicedCents).toBe(model.chargedCents(period) + feesCents);
  }
  return logged.length;
}

describe('any history of an account, over any number of periods and processes', () => {
  const numRuns = scaled(300, 100_000);

  it('is what the plain model says, step by step, and holds at every prefix', () => {
    const seen = { histories: 0, events: 0, periods: 0 };
    fc.assert(
      fc.property(history, (one) => {
        const run = runOf(one);
        expect(violationsOf(run)).toEqual([]);
        for (const period of run.model.periods) seen.events += comparePeriod(run, period);
        seen.histories += 1;
        seen.periods += run.log.streams.size;
        // Everything that was ever sent, sent once more: nothing of it is new.
        for (const append of run.log.appends) expect(run.log.append(append)).toBe('stored');
      }),
      { numRuns },
    );
    if (isLongProof)
      console.log(`histories against the model, seed ${process.env['PROOF_SEED'] ?? ''}: ${JSON.stringify(seen)}`);
  });
});
