import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { firstBillingPeriod, nextBillingPeriod } from '../../src/domain/billing-period.ts';
import { formatCents } from '../../src/domain/cents.ts';
import { type ChargeCommand, decideCharge, evolveCharges, newCharges } from '../../src/domain/change-charge.ts';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import {
  decideCorrectionRequest,
  evolveCorrectionRequests,
  newCorrectionRequests,
  type StaffActor,
} from '../../src/domain/correction-requests.ts';
import { decideUsage, type UsageCommand } from '../../src/domain/decide-usage.ts';
import type { InvoiceLine } from '../../src/domain/invoice-events.ts';
import { openingInvoice, periodInvoice } from '../../src/domain/invoice-lines.ts';
import type { EventMetadata, ParsedEvent } from '../../src/domain/parse-event.ts';
import { type PlanTerms, readPlanFile } from '../../src/domain/plans.ts';
import { isRefused, type Refused } from '../../src/domain/refusals.ts';
import { staffRole } from '../../src/domain/staff-events.ts';
import type { UsageEvent, UsageEventOf } from '../../src/domain/usage-events.ts';
import { endPeriod } from '../../src/domain/usage-periods.ts';
import type { UsagePeriod } from '../../src/domain/usage-state.ts';
import { summariseUsage } from '../../src/domain/usage-summary.ts';
import { accountId, lookUp, queueDownload, token, waiveCommand } from '../domain/usage-examples.ts';
import { numberedUuid } from '../support/numbered-uuid.ts';
import { sum } from '../support/sum.ts';
import { sections } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';

/** The numbers of docs/billing.md, done: each row of each table to an account of its own, with the plans of the plan file. */
const { plans } = readPlanFile(JSON.parse(readFileSync(join(root, 'deploy/plans.json'), 'utf8')));
const page = sections('docs/billing.md');
const tables = page.flatMap(({ title, tables: found }) => found.map((rows, index) => ({ title, index, rows })));

const { anchorDay, ...dates } = firstBillingPeriod('2026-11-21T10:00:00.000Z');
const afterGrace = '2026-12-21T01:00:00.000Z';

class ExampleAccount {
  readonly #events: ParsedEvent<UsageEvent>[] = [];
  #corrections = newCharges();
  #closing = initialClosing;
  #downloads = 0;

  /** @returns what came of it, in the words of the page */
  do(what: string): string {
    const [, count] = /^(\d+) /.exec(what) ?? [];
    if (what.startsWith('open on ')) return this.#open(plan(what.slice('open on '.length)));
    if (count !== undefined) return this.#many(Number(count), what.includes('download') ? 'download' : 'lookup');
    if (what.startsWith('cap at '))
      return this.#ask({ kind: 'set_overage_cap', overageCapCents: cents(what), effective: 'now' });
    if (what === 'no cap') return this.#ask({ kind: 'remove_overage_cap', effective: 'now' });
    const [, name, when] = /^plan (\w+) (now|next)$/.exec(what) ?? [];
    if (name !== undefined)
      return this.#ask({ kind: 'change_plan', terms: plan(name), effective: when === 'now' ? 'now' : 'next_period' });
    const [, number] = /of download (\d+)$/.exec(what) ?? [];
    if (what.startsWith('void ')) return this.#correct({ kind: 'void_download', token: token(Number(number)) });
    if (what.startsWith('waive '))
      return this.#correct(waiveCommand(token(Number(number)), what.replaceAll(' ', '-'), cents(what)));
    if (what === 'end') {
      this.#store([endPeriod(this.#usage)]);
      return `next fee ${formatCents(this.#usage.next?.terms.fee_cents ?? 0)}`;
    }
    const failed = /^the service fails download (\d+)$/.exec(what)?.[1];
    if (failed) {
      const failedToken = token(Number(failed));
      return this.#correct({ kind: 'return_service_failure', token: failedToken, reference: `failure-${failed}` });
    }
    if (what === 'close') return this.#close();
    throw new Error(`the page says "${what}", which this test does not understand`);
  }

  get summary() {
    return summariseUsage(this.#usage, this.#usage.phase === 'open' ? dates.start : dates.end);
  }

  get #usage(): UsagePeriod {
    const { usage } = this.#closing;
    if (usage.phase === 'absent') throw new Error('an example begins with "open on"');
    return usage;
  }

  #open(terms: PlanTerms): string {
    const data = {
      account_id: accountId,
      anchor_day: anchorDay,
      period_start: dates.start,
      period_end: dates.end,
      previous_period_start: null,
      terms: { ...terms, overage_cap_cents: null },
    };
    this.#store([{ type: 'UsagePeriodOpened', data }]);
    const [opened] = this.#events as [ParsedEvent<UsageEventOf<'UsagePeriodOpened'>>];
    return openingInvoice(opened).lines.map(lineText).join();
  }

  #many(count: number, what: 'download' | 'lookup'): string {
    const took: UsageEvent[] = [];
    for (let index = 0; index < count; index += 1) {
      const decision = decideUsage(
        this.#usage,
        what === 'download' ? queueDownload((this.#downloads += 1)) : lookUp(numberedUuid(this.#events.length)),
      );
      if (isRefused(decision)) {
        if (count > 1) throw new Error(`of ${String(count)}, number ${String(index + 1)} was refused`);
        this.#downloads -= 1;
        return `refused: ${decision.refusal}`;
      }
      this.#store(decision);
      took.push(...decision);
    }
    return textOf(took);
  }

  #ask(command: UsageCommand): string {
    return this.#take(decideUsage(this.#usage, command));
  }

  #correct(command: ChargeCommand): string {
    return this.#take(decideCharge(this.#corrections, command));
  }

  #take(decision: readonly UsageEvent[] | Refused): string {
    if (isRefused(decision)) return `refused: ${decision.refusal}`;
    this.#store(decision);
    return textOf(decision);
  }

  #close(): string {
    this.#take(decideClosing(this.#closing, 3_600, afterGrace));
    const { lines } = periodInvoice(this.#events);
    const totalCents = sum(lines.map((line) => line.cents));
    if (totalCents === 0) return 'no invoice';
    return `invoice: ${[...lines.map(lineText), `total ${formatCents(totalCents)}`].join(', ')}`;
  }

  #store(events: readonly UsageEvent[]): void {
    for (const event of events) {
      const revision = this.#events.length;
      const id = numberedUuid(revision);
      this.#events.push({ event, id, revision, stream: 'usage', position: 0n, metadata: {} as EventMetadata });
      this.#corrections = evolveCharges(this.#corrections, event, { id, revision });
      this.#closing = evolveClosing(this.#closing, event, { time: dates.end });
    }
  }
}

/** What a row's events come to: credits, charges, what is given back, what the owner is told. */
function textOf(events: readonly UsageEvent[]): string {
  const counted = (type: UsageEvent['type']) => events.filter((event) => event.type === type).length;
  const several = (count: number, what: string) => `${String(count)} ${what}${count === 1 ? '' : 's'}`;
  const [credits, lookups] = [counted('DownloadCreditDebited'), counted('MetadataCreditDebited')];
  const charges = Map.groupBy(
    events.flatMap((event) => (event.type === 'OverageCharged' ? [event.data.cents] : [])),
    (amountCents) => amountCents,
  );
  const parts = [
    ...(credits > 0 ? [several(credits, 'credit')] : []),
    ...(lookups > 0 ? [several(lookups, 'metadata request')] : []),
    ...[...charges].map(([rateCents, same]) => `${String(same.length)} × ${formatCents(rateCents)}`),
    ...events.flatMap((event) => {
      if (event.type === 'DownloadVoided')
        return event.data.cents > 0
          ? `${formatCents(event.data.cents)} back`
          : `${several(event.data.credits, 'credit')} back`;
      if (event.type === 'DownloadCreditReturned') return '1 credit back';
      if (event.type === 'ChargeWaived') return `${formatCents(event.data.cents)} back`;
      if (event.type === 'PlanChanged' && event.data.fee_difference_cents > 0)
        return `fee difference ${formatCents(event.data.fee_difference_cents)}`;
      if (event.type === 'UsageWarningReached') return `warning at ${String(event.data.threshold_percent)} %`;
      return event.type === 'OverageCapReached' ? 'cap reached' : [];
    }),
  ];
  return parts.join(', ');
}

function lineText(line: InvoiceLine): string {
  switch (line.kind) {
    case 'fee':
      return `fee ${formatCents(line.cents)}`;
    case 'fee_difference':
      return `fee difference ${formatCents(line.cents)}`;
    case 'overage':
      return `${String(line.quantity)} × ${formatCents(line.rate_cents)} = ${formatCents(line.cents)}`;
    case 'waivers':
    case 'waiver':
      return `waivers −${formatCents(-line.cents)}`;
  }
}

const cents = (text: string) => Number(/\$(\d+\.\d\d)/.exec(text)?.[1]?.replace('.', ''));

function plan(name: string): PlanTerms {
  const terms = plans.get(name);
  if (!terms) throw new Error(`the plan file has no ${name}`);
  return terms;
}

describe('docs/billing.md', () => {
  const staffTitle = 'Corrections by staff';
  const [calendar, ...examples] = tables.filter(({ title }) => title !== staffTitle);

  it.each(calendar?.rows ?? [])('has the right periods in row %#', (row) => {
    const { 'opened on': openedOn = '', ...expected } = row;
    const { anchorDay: anchor, ...first } = firstBillingPeriod(`${openedOn}T12:00:00.000Z`);
    const starts: string[] = [];
    for (let period = first; starts.length < 4; period = nextBillingPeriod(period, anchor))
      starts.push(period.end.slice(0, 10));
    expect(starts).toEqual(Object.values(expected));
  });

  it.each(examples)('$title, table $index: comes out as it says', ({ rows }) => {
    const account = new ExampleAccount();
    for (const row of rows) {
      const what = row['what happens'] ?? '';
      const comesTo = account.do(what);
      const { downloads, overage } = account.summary;
      expect({ ...row }).toEqual({
        'what happens': what,
        'comes to': comesTo,
        credits: `${String(downloads.used)} of ${String(downloads.limit)}`,
        overage: formatCents(overage.cents),
      });
    }
    expect(rows.length).toBeGreaterThan(4);
  });

  it('says which corrections of staff wait for a second person', () => {
    const rows = tables.find(({ title }) => title === staffTitle)?.rows ?? [];
    expect(rows).toHaveLength(5);
    const requests = newCorrectionRequests();
    const dayCents = new Map<string, number>();
    for (const [index, row] of rows.entries()) {
      const [, name = '', role] = /^(\w+) \((\w+)\)$/.exec(row['who asks'] ?? '') ?? [];
      const by: StaffActor = { type: 'staff', id: name, role: staffRole.parse(role), reason: 'as the page says' };
      const cents = Math.round(Number(row['for']?.slice(1)) * 100);
      dayCents.set(name, (dayCents.get(name) ?? 0) + cents);
      const correction = {
        kind: 'charges' as const,
        stream: '',
        charges: [{ token: token(index), revision: 0, cents }],
      };
      const about = { correctionId: String(index), accountId, reference: 'CASE-1', correction };
      const ask = { kind: 'ask', ...about, cents, limitCents: 5_000, by } as const;
      const time = '2026-11-21T10:00:00.000Z';
      const decided = decideCorrectionRequest(requests, ask, time);
      if (isRefused(decided)) throw new Error(decided.refusal);
      for (const event of decided) evolveCorrectionRequests(requests, event, { id: 'an id', time, actor: by });
      const waits = requests.get(String(index))?.status === 'asked';
      expect(row).toMatchObject({
        'within 24 hours': formatCents(dayCents.get(name) ?? 0),
        'comes to': waits ? 'waits for approval' : 'given back at once',
      });
    }
  });

  it('has its examples', () => {
    expect(examples).toHaveLength(7);
  });
});
