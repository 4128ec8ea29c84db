import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { decideUsage } from '../../src/domain/decide-usage.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { decideInvoices, initialInvoices } from '../../src/domain/invoice.ts';
import { periodInvoice } from '../../src/domain/invoice-lines.ts';
import { type DomainEvent, parseUsageEvent } from '../../src/domain/parse-event.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, periodClosed } from '../../src/domain/usage-periods.ts';
import { initialUsage, type UsagePeriod } from '../../src/domain/usage-state.ts';
import { verify } from '../../src/proof/verifier.mjs';
import { ChainedLog } from '../audit/chained-log.ts';
import { Random } from '../audit/random.ts';
import { plan, video } from '../domain/usage-examples.ts';
import { scaled } from '../support/proof-scale.ts';
import { documentsOf, ProvenLog, proveText, publicKey } from './proven-log.ts';

const accountId = 'acc_7h2k9m4p1q8s5t3v';
const openedAt = '2026-11-01T00:00:00.000Z';
const by = { actor: { type: 'system', id: 'test' } as const, now: openedAt };
const charges = scaled(1_000, 100_000);

it(`a proof of ${String(charges)} charges is verified in time`, { timeout: 600_000 }, async () => {
  const [log, random] = [new ProvenLog(), new Random(1)];
  const chained = new ChainedLog(log, random);
  const { anchorDay: anchor_day, ...period } = firstBillingPeriod(openedAt);
  const stream = usageStream(accountId, period);
  let usage = initialUsage as UsagePeriod;
  const events: UsageEvent[] = [];
  const add = (...added: readonly UsageEvent[]) => {
    for (const event of added) {
      usage = evolveUsage(usage, event) as UsagePeriod;
      events.push(event);
    }
  };
  const [period_start, period_end] = [period.start, period.end];
  const terms = { ...plan, downloads_limit: 0, overage_cap_cents: null };
  const data = { account_id: accountId, anchor_day, period_start, period_end, previous_period_start: null, terms };
  add({ type: 'UsagePeriodOpened', data });
  for (let number = 0; number < charges; number += 1) {
    const token = `A${random.hex(31)}`;
    add(...(decideUsage(usage, { kind: 'queue_download', token, video, ...defaultOptions }) as UsageEvent[]));
  }
  await chained.append(stream, events, by);
  await chained.append(stream, [endPeriod(usage)], { ...by, now: period_end });
  add(endPeriod(usage));
  await chained.append(stream, [periodClosed(usage)], { ...by, now: period_end });
  const draft = periodInvoice(chained.read(stream).map(parseUsageEvent));
  const issued = decideInvoices(initialInvoices, { kind: 'issue_invoice', draft, mailTo: [] }) as DomainEvent[];
  await chained.append(`invoices-${accountId}`, issued, { ...by, now: period_end });
  await log.sign();

  const text = await proveText(log, documentsOf(log).at(-1)!);
  const compressed = gzipSync(text);
  const begun = process.cpuUsage();
  const { charges: found } = await verify(gunzipSync(compressed).toString(), publicKey);
  const { user, system } = process.cpuUsage(begun);
  const seconds = (user + system) / 1e6;
  console.log(
    `${String(charges)} charges: ${String(text.length)} bytes, ${String(compressed.length)} compressed, verified in ${seconds.toFixed(1)} s of a processor`,
  );
  expect(found).toBe(charges);
  expect(seconds).toBeLessThan(scaled(20, 120));
});
