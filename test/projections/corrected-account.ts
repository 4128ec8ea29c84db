import { accountStream } from '../../src/domain/account-events.ts';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { decideCharge, evolveCharges, newCharges } from '../../src/domain/change-charge.ts';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { plusSeconds } from '../../src/domain/instant.ts';
import { decideInvoices, evolveInvoices, initialInvoices, type InvoiceCommand } from '../../src/domain/invoice.ts';
import { invoicesStream } from '../../src/domain/invoice-events.ts';
import { openingInvoice, periodInvoice } from '../../src/domain/invoice-lines.ts';
import { type Actor, type DomainEvent, parseUsageEvent } from '../../src/domain/parse-event.ts';
import { openerOf } from '../../src/domain/people.ts';
import { isRefused, type Refused } from '../../src/domain/refusals.ts';
import { endPeriod, openNextPeriod } from '../../src/domain/usage-periods.ts';
import { initialUsage, type UsagePeriod } from '../../src/domain/usage-state.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { ChainedLog } from '../audit/chained-log.ts';
import type { Random } from '../audit/random.ts';
import { plan, video, waiveCommand } from '../domain/usage-examples.ts';

const staff: Actor = { type: 'staff', id: 'maria', role: 'finance', reason: 'the platform was down' };
const system: Actor = { type: 'system', id: 'test' };
const graceSeconds = 3_600;
/** An append of the service has no more either. */
const appendEvents = 500;

export interface CorrectedAccount {
  accountId: string;
  /** Usage stream of the period that is closed and invoiced. */
  stream: string;
  waivedCents: number;
  creditedCents: number;
}

/**
 * An account with a closed and invoiced period whose charges were waived in part, `corrections` of them, before `corrections` credit
 * notes of a cent gave back of its invoice. Decided by the service's own rules, in appends as large as they may be.
 */
export async function storeCorrectedAccount(
  store: EventStore,
  random: Random,
  { openedAt, corrections }: { openedAt: string; corrections: number },
): Promise<CorrectedAccount> {
  const log = new ChainedLog(store, random);
  const accountId = `acc_${random.hex(20)}`;
  const period = firstBillingPeriod(openedAt);
  const [stream, invoices] = [usageStream(accountId, period), invoicesStream(accountId)];
  const append = async (to: string, decided: readonly DomainEvent[] | Refused, now: string, actor = system) => {
    if (isRefused(decided)) throw new Error(`refused: ${decided.refusal}`);
    for (let from = 0; from < decided.length; from += appendEvents)
      await log.append(to, decided.slice(from, from + appendEvents), { actor, now });
  };
  const invoice = (command: InvoiceCommand, now: string) =>
    append(
      invoices,
      decideInvoices(log.fold(invoices, initialInvoices, evolveInvoices), command),
      now,
      command.kind === 'issue_invoice' ? system : staff,
    );

  const opened = { account_id: accountId, period_start: period.start, period_end: period.end };
  const terms = { ...plan, downloads_limit: 0 };
  const account = { ...opened, anchor_day: period.anchorDay };
  await append(
    accountStream(accountId),
    [{ type: 'AccountOpened', data: { ...account, terms, personal: { email: 'owner@example.com' } } }],
    openedAt,
  );
  const first: DomainEvent = {
    type: 'UsagePeriodOpened',
    data: { ...account, previous_period_start: null, terms: { ...terms, overage_cap_cents: null } },
  };
  await append(stream, [first], openedAt);
  const mailTo = [openerOf(accountId)];
  const [recorded] = log.read(stream).map(parseUsageEvent) as Parameters<typeof openingInvoice>[0][];
  if (!recorded) throw new Error('no period was opened');
  await invoice({ kind: 'issue_invoice', draft: openingInvoice(recorded), mailTo }, openedAt);

  const tokens = Array.from({ length: corrections }, () => random.hex(24));
  await append(stream, tokens.flatMap(charged), openedAt);
  await waiveEach(tokens);
  const usage = log.fold(stream, initialUsage, evolveUsage) as UsagePeriod;
  const ended = endPeriod(usage);
  await append(stream, [ended], period.end);
  const next = openNextPeriod(evolveUsage(usage, ended) as UsagePeriod);
  await append(usageStream(accountId, { start: period.end }), [next], period.end);
  const closedAt = plusSeconds(period.end, graceSeconds);
  const closing = log.fold(stream, initialClosing, evolveClosing);
  await append(stream, decideClosing(closing, graceSeconds, closedAt), closedAt);
  const draft = periodInvoice(log.read(stream).map(parseUsageEvent));
  await invoice({ kind: 'issue_invoice', draft, mailTo }, closedAt);
  const line = 1 + draft.lines.findIndex(({ kind }) => kind === 'overage');
  await creditEach();
  return { accountId, stream, waivedCents: sumOf(waivedOf), creditedCents: corrections };

  function sumOf(centsOf: (index: number) => number): number {
    return tokens.reduce((sum, _token, index) => sum + centsOf(index), 0);
  }

  async function waiveEach(waived: readonly string[]): Promise<void> {
    const state = log.fold(stream, newCharges(), evolveCharges);
    const events = waived.map((token, index) => {
      const command = waiveCommand(token, `case-${String(index)}`, waivedOf(index));
      const decided = decideCharge(state, command);
      if (isRefused(decided)) throw new Error(`refused: ${decided.refusal}`);
      return decided;
    });
    await append(stream, events.flat(), openedAt, staff);
  }

  async function creditEach(): Promise<void> {
    let state = log.fold(invoices, initialInvoices, evolveInvoices);
    const about = { account_id: accountId, invoice_number: 2, line, cents: 1 };
    const notes: DomainEvent[] = [];
    for (let index = 0; index < corrections; index += 1) {
      const note = { ...about, reference: `note-${String(index)}` };
      const decided = decideInvoices(state, { kind: 'credit_line', note, mailTo });
      if (isRefused(decided)) throw new Error(`refused: ${decided.refusal}`);
      for (const event of decided) state = evolveInvoices(state, event);
      notes.push(...decided);
    }
    await append(invoices, notes, closedAt, staff);
  }
}

/** No two that follow each other are the same, so that one that is left out does not go unnoticed. */
const waivedOf = (index: number) => 1 + (index % 20);

function charged(token: string, index: number): DomainEvent[] {
  const { platform, videoId: video_id, canonicalUrl: url } = video;
  const options = { format: 'video', quality: 'best', audio_format: 'mp3', item: 1 } as const;
  return [
    {
      type: 'OverageCharged',
      data: { token, ordinal: index + 1, cents: 25, rate_cents: 25, rate_version: plan.rate_version },
    },
    { type: 'DownloadQueued', data: { token, platform, video_id, url, ...options, overage: true, idempotency: null } },
  ];
}
