import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isRefused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { decideUsage } from '../../src/domain/decide-usage.ts';
import type { UsageCommand } from '../../src/domain/decide-usage.ts';
import { evolveUsage } from '../../src/domain/usage.ts';
import type { OpenUsage } from '../../src/domain/usage.ts';
import { given, lookUp, opened, plan, queueDownload } from './usage-examples.ts';

const small = fc.integer({ min: 0, max: 6 });
const rateCents = fc.option(fc.integer({ min: 1, max: 30 }));
const capCents = fc.integer({ min: 0, max: 120 });

type CommandAt = (index: number) => UsageCommand;

const command = fc.oneof(
  { weight: 6, arbitrary: fc.constant<CommandAt>((index) => queueDownload(index)) },
  {
    weight: 2,
    arbitrary: fc.uuid().map(
      (lookupId): CommandAt =>
        () =>
          lookUp(lookupId),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(small, small, rateCents).map(([downloads_limit, metadata_limit, overage_cents]): CommandAt => {
      const terms = { ...plan, downloads_limit, metadata_limit, overage_cents, rate_version: `at ${overage_cents}` };
      return () => ({ kind: 'change_plan', terms, effective: 'now' });
    }),
  },
  {
    weight: 1,
    arbitrary: capCents.map((overageCapCents): CommandAt => () => ({
      kind: 'set_overage_cap',
      overageCapCents,
      effective: 'now',
    })),
  },
  { weight: 1, arbitrary: fc.constant<CommandAt>(() => ({ kind: 'remove_overage_cap', effective: 'now' })) },
);

/** Any plan, any cap, and any row of commands; each is decided on what the ones before it left. */
const history = fc
  .record({
    overage_cents: rateCents,
    downloads_limit: small,
    overage_cap_cents: fc.option(capCents),
    commands: fc.array(command, { maxLength: 60 }),
  })
  .map(({ commands, ...terms }) => {
    const events: UsageEvent[] = [opened(terms)];
    let usage = given(...events);
    commands.forEach((commandOf, index) => {
      const decision = decideUsage(usage, commandOf(index));
      if (isRefused(decision)) return;
      events.push(...decision);
      usage = decision.reduce(evolveUsage, usage) as OpenUsage;
    });
    return { events, usage };
  });

/** The rules once more, from the events alone and in other words than those that decided. */
function auditOf(events: readonly UsageEvent[]) {
  let capCents: number | null = null;
  let rate: { overage_cents: number | null; rate_version: string } | undefined;
  const audit = { cents: 0, charges: 0, debits: 0, violations: [] as string[] };
  events.forEach((event, index) => {
    if (event.type === 'UsagePeriodOpened' || event.type === 'PlanChanged') rate = event.data.terms;
    if (event.type === 'UsagePeriodOpened') capCents = event.data.terms.overage_cap_cents;
    if (event.type === 'OverageCapSet') capCents = event.data.overage_cap_cents;
    if (event.type === 'OverageCapRemoved') capCents = null;
    if (event.type === 'OverageCharged') {
      audit.cents += event.data.cents;
      audit.charges += 1;
      if (audit.cents > (capCents ?? Infinity)) audit.violations.push(`${index}: over the cap`);
      if (event.data.cents !== rate?.overage_cents || event.data.rate_version !== rate.rate_version)
        audit.violations.push(`${index}: not the rate in force`);
    }
    if (event.type === 'DownloadCreditDebited') audit.debits += 1;
    if (event.type === 'OverageCharged' || event.type === 'DownloadCreditDebited') {
      if (event.data.ordinal !== audit.charges + audit.debits) audit.violations.push(`${index}: ordinal`);
      const next = events[index + 1];
      if (next?.type !== 'DownloadQueued' || next.data.token !== event.data.token)
        audit.violations.push(`${index}: nothing queued for this charge`);
    }
    if (event.type === 'DownloadQueued') {
      const before = events[index - 1]?.type;
      if (before !== (event.data.overage ? 'OverageCharged' : 'DownloadCreditDebited'))
        audit.violations.push(`${index}: queued without its charge`);
    }
  });
  return audit;
}

describe('any history of downloads, lookups, changes of plan and changes of cap', () => {
  it('never charges beyond the cap in force, or at another rate than the one in force', () => {
    fc.assert(
      fc.property(history, ({ events }) => {
        expect(auditOf(events).violations).toEqual([]);
      }),
    );
  });

  it('has one charge or credit for each download, and counts what it has', () => {
    fc.assert(
      fc.property(history, ({ events, usage }) => {
        const { cents, charges, debits } = auditOf(events);
        const queued = events.filter(({ type }) => type === 'DownloadQueued').length;
        expect(charges + debits).toBe(queued);
        expect(usage).toMatchObject({
          downloads: queued,
          downloadCredits: debits,
          overageDownloads: charges,
          overageCents: cents,
          metadataCredits: events.filter(({ type }) => type === 'MetadataCreditDebited').length,
        });
      }),
    );
  });

  it('folds from its events to the state that the decisions were made on', () => {
    fc.assert(
      fc.property(history, ({ events, usage }) => {
        expect(given(...events)).toEqual(usage);
      }),
    );
  });
});
