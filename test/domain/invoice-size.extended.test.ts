import { expect, it } from 'vitest';
import { maxPlanChanges } from '../../src/domain/change-plan.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { decideInvoices, initialInvoices } from '../../src/domain/invoice.ts';
import { periodInvoice } from '../../src/domain/invoice-lines.ts';
import type { ParsedEvent } from '../../src/domain/parse-event.ts';
import { maxPeople } from '../../src/domain/people.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, periodClosed } from '../../src/domain/usage-periods.ts';
import { initialUsage, type UsagePeriod } from '../../src/domain/usage-state.ts';
import { charge, opened, parsed, planChanged, waiverOf } from './usage-examples.ts';

/** The most bytes that EventStoreDB takes in one append, less room for metadata. */
const mostBytes = 1024 * 1024 - 64 * 1024;

/** The longest that there are. */
const stream = `usage-acc_${'a'.repeat(32)}-20261101`;
const farRevision = 9_000_000_000_000;

class LargePeriod {
  readonly events: ParsedEvent<UsageEvent>[] = [];
  #usage = initialUsage;
  #revision = farRevision;

  /** @param gap revisions of other events in between */
  add(event: UsageEvent, gap = 0): number {
    this.#revision += 1 + gap;
    this.events.push(parsed(event, this.#revision, stream));
    this.#usage = evolveUsage(this.#usage, event);
    return this.#revision;
  }

  waive(number: number, charged: number, gap = 0): void {
    this.add(waiverOf(number, charged, { cents: 1, reference: `CASE-${number}` }), gap);
  }

  invoice() {
    this.add(endPeriod(this.#usage as UsagePeriod));
    this.add(periodClosed(this.#usage as UsagePeriod));
    const draft = periodInvoice(this.events);
    const mailTo = Array<string>(maxPeople).fill(`per_${'a'.repeat(32)}`);
    const decided = decideInvoices(initialInvoices, { kind: 'issue_invoice', draft, mailTo });
    if (isRefused(decided) || decided[0]?.type !== 'InvoiceIssued') throw new Error('nothing was invoiced');
    const { data } = decided[0];
    return { ...data, bytes: Buffer.byteLength(JSON.stringify(data)) };
  }
}

/** No two neighbours in the same step, so that revisions make as many ranges as they can. */
const scattered = (number: number) => (number * number) % 11;

it.each([
  ['one after the other', () => 0],
  ['scattered among other events', scattered],
])('an invoice of 100 000 charges and 100 000 waivers, %s, fits into an event', (_, gap) => {
  const period = new LargePeriod();
  period.add(opened({ downloads_limit: 0 }));
  const charges = Array.from({ length: 100_000 }, (__, index) => period.add(charge(index + 1), gap(index)));
  charges.forEach((revision, index) => period.waive(index + 1, revision, gap(index)));
  const { bytes, lines, total_cents: totalCents } = period.invoice();
  expect(lines).toMatchObject([
    { kind: 'overage', quantity: 100_000, cents: 2_500_000 },
    { kind: 'waivers', quantity: 100_000, cents: -100_000 },
    { kind: 'fee', cents: 1900 },
  ]);
  expect(totalCents).toBe(2_401_900);
  expect(bytes).toBeLessThan(mostBytes);
});

it('an invoice with as many rates and fee differences as a period may have fits, each with as many ranges as it likes', () => {
  const period = new LargePeriod();
  period.add(opened({ downloads_limit: 0 }));
  const mostCents = 900_000_000_000;
  const charged: number[] = [];
  const chargeAll = (rateCents: number, version: string) => {
    for (let index = 0; index < 1_000; index += 1)
      charged.push(period.add(charge(charged.length + 1, rateCents, version), scattered(index)));
  };
  chargeAll(25, 'v'.repeat(64));
  for (let change = 1; change <= maxPlanChanges; change += 1) {
    const version = String(change).padStart(64, 'v');
    const rates = { overage_cents: mostCents + change, rate_version: version };
    period.add(planChanged({ ...rates, plan: 'p'.repeat(32), fee_cents: change }, 1));
    chargeAll(mostCents + change, version);
  }
  charged.forEach((revision, index) => period.waive(index + 1, revision, scattered(index)));
  const { bytes, lines } = period.invoice();
  const counted = Map.groupBy(lines, ({ kind }) => kind);
  expect([...counted].map(([kind, ofKind]) => [kind, ofKind.length])).toEqual([
    ['overage', 1 + maxPlanChanges],
    ['waivers', 1 + maxPlanChanges],
    ['fee_difference', maxPlanChanges],
    ['fee', 1],
  ]);
  expect(counted.get('overage')?.every((line) => line.kind === 'overage' && line.quantity === 1_000)).toBe(true);
  expect(bytes).toBeLessThan(mostBytes);
});
