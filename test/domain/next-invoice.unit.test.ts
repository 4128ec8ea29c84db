import { describe, expect, it } from 'vitest';
import { periodInvoice } from '../../src/domain/invoice-lines.ts';
import { nextInvoice } from '../../src/domain/next-invoice.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, periodClosed } from '../../src/domain/usage-periods.ts';
import { charge, credit, given, opened, parsed, planChanged, voidOf, waiverOf } from './usage-examples.ts';

const inNovember = '2026-11-30T23:59:59.999Z';
const inDecember = '2026-12-01T00:00:00.000Z';
const nextFee = { kind: 'fee', plan: 'dev_100', cents: 1900 };

describe('the next invoice', () => {
  it('begins with the overage so far, and ends with the next fee', () => {
    expect(nextInvoice(given(opened()), inNovember)).toEqual({
      lines: [{ kind: 'overage', downloads: 0, cents: 0 }, nextFee],
      total_cents: 1900,
    });
  });

  it('has what is left of the charges after voids and waivers', () => {
    const usage = given(
      opened(),
      credit(1),
      credit(2),
      charge(3),
      charge(4),
      charge(5),
      voidOf(4, 25, 4),
      waiverOf(5, 5, { cents: 10 }),
    );
    expect(nextInvoice(usage, inNovember)).toEqual({
      lines: [{ kind: 'overage', downloads: 2, cents: 40 }, nextFee],
      total_cents: 1940,
    });
  });

  it('has what upgrades have added to the fee, and the fee of the plan that comes', () => {
    const usage = given(opened(), planChanged({ plan: 'scale_2000', fee_cents: 5900 }, 4000));
    expect(nextInvoice(usage, inNovember)).toEqual({
      lines: [
        { kind: 'overage', downloads: 0, cents: 0 },
        { kind: 'fee_difference', cents: 4000 },
        { kind: 'fee', plan: 'scale_2000', cents: 5900 },
      ],
      total_cents: 9900,
    });
  });

  it('is the next fee alone once the period is over, whose charges stand on an invoice of their own', () => {
    const usage = given(opened({ downloads_limit: 0 }), charge(1), planChanged({}, 4000));
    expect(nextInvoice(usage, inDecember)).toEqual({ lines: [nextFee], total_cents: 1900 });
  });

  it('comes to the total of the invoice that the same events make', () => {
    const events: UsageEvent[] = [
      opened({ downloads_limit: 0 }),
      charge(1),
      charge(2),
      planChanged({ plan: 'scale_2000', fee_cents: 5900 }, 4000),
      waiverOf(2, 2, { cents: 5 }),
    ];
    const usage = given(...events);
    const ended = [...events, endPeriod(usage)];
    const { lines } = periodInvoice(
      [...ended, periodClosed(given(...ended))].map((event, revision) => parsed(event, revision)),
    );
    const issuedCents = lines.reduce((sum, { cents }) => sum + cents, 0);
    expect(nextInvoice(usage, inNovember).total_cents).toBe(issuedCents);
  });
});
