import { expect } from 'vitest';
import type { UsageEvent, UsageEventOf } from '../../src/domain/usage-events.ts';
import type { LoggedEvent } from '../support/read-log.ts';
import { sum } from '../support/sum.ts';
import { UsageModel } from './usage-model.ts';

/**
 * Rates an account's usage events again by the plain model, one by one: each must be what the model makes of
 * the events before it, to the cent.
 *
 * @param events of all usage streams of one account, in the order of the log
 * @returns the model, with every period in it
 */
export function rateAgain(events: readonly LoggedEvent[]): UsageModel {
  const [first, ...others] = events;
  if (first?.type !== 'UsagePeriodOpened') throw new Error('an account begins with a period');
  const { terms, anchor_day: anchorDay, ...period } = first.data as UsageEventOf<'UsagePeriodOpened'>['data'];
  const model = new UsageModel({ start: period.period_start, end: period.period_end }, terms, anchorDay);
  for (const event of others) rateEvent(model, event);
  return model;
}

function rateEvent(model: UsageModel, event: LoggedEvent): void {
  const { type, data } = event as LoggedEvent & UsageEvent;
  const at = `event ${String(event.revision)} of ${event.stream}`;
  switch (type) {
    case 'UsagePeriodOpened':
      model.rollTo(data.period_start);
      expect({ ...model.current.dates, terms: model.current.terms }, at).toEqual({
        start: data.period_start,
        end: data.period_end,
        terms: data.terms,
      });
      break;
    case 'DownloadCreditDebited':
      expect(model.download(data.token), at).toEqual({ took: 'credit', cents: 0 });
      break;
    case 'OverageCharged':
      expect(model.download(data.token), at).toEqual({ took: 'credit', cents: data.cents });
      break;
    case 'PlanChanged': {
      const before = feesOf(model);
      model.changePlan(data.terms, data.effective);
      expect(feesOf(model) - before, at).toBe(data.fee_difference_cents);
      break;
    }
    case 'OverageCapSet':
      model.changeCap(data.overage_cap_cents, data.effective);
      break;
    case 'OverageCapRemoved':
      model.changeCap(null, data.effective);
      break;
    case 'DownloadVoided':
      expect(model.voidDownload(data.token), at).toEqual({ took: 'credit', cents: 0 - data.cents });
      break;
    case 'ChargeWaived':
      expect(model.waive(data.token, data.cents, data.reference), at).toEqual({ took: 'credit', cents: -data.cents });
      break;
    case 'UsagePeriodClosed': {
      const period = model.periods.find(({ dates }) => dates.start === data.period_start);
      if (!period) throw new Error(`${at} closes a period that never was`);
      expect(data, at).toMatchObject({
        overage_cents: model.chargedCents(period),
        downloads: period.downloads.length,
        fee_difference_cents: sum(period.feesCents.slice(1)),
      });
      period.closed = true;
      break;
    }
    case 'KeyLimitSet':
    case 'KeyLimitRemoved':
    case 'AccountSuspended':
    case 'SuspensionLifted':
      throw new Error(`${at}: the plain model has no ${type}`);
    // No job is worked on here, so that none of these changes what is charged.
    case 'DownloadQueued':
    case 'DownloadConfirmed':
    case 'DownloadCreditReturned':
    case 'MetadataCreditDebited':
    case 'MetadataCreditVoided':
    case 'OverageCapReached':
    case 'OverageCapMailed':
    case 'UsageWarningReached':
    case 'UsageWarningMailed':
    case 'UsagePeriodEnded':
      break;
  }
}

/**
 * The totals that an account must be invoiced, invoice by invoice: the first fee, then for each closed period its overage, what
 * upgrades added to its fee, and the fee of the next. An invoice over nothing is not issued.
 */
export function billsOf({ periods, chargedCents }: Pick<UsageModel, 'periods' | 'chargedCents'>): number[] {
  const opening = periods[0]?.feesCents[0] ?? 0;
  const ofPeriods = periods.flatMap((period, index) => {
    const next = periods[index + 1];
    if (!period.closed || !next) return [];
    return chargedCents(period) + sum(period.feesCents.slice(1)) + (next.feesCents[0] ?? 0);
  });
  return [opening, ...ofPeriods].filter((cents) => cents > 0);
}

const feesOf = ({ current }: UsageModel) => sum(current.feesCents);
