import { refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';
import type { Promised, UsageEvent, UsageEventOf } from './usage-events.ts';
import { closePeriod } from './usage-periods.ts';
import { evolveUsage, initialUsage } from './usage.ts';
import type { Usage } from './usage.ts';

/**
 * One billing period with each of its charges: for what comes after a charge. A charge is confirmed or voided, never both; it
 * may be waived in parts; what is given back in all is never more than it took.
 *
 * The fold may begin in the middle of the period, because a period may be very long: whatever concerns a charge or a warning
 * stands behind it. Then it has no `usage`, and earlier charges, warnings and waivers are not in it.
 */
export interface Settlement {
  usage: Usage;
  /** Whether the books are closed; unlike `usage`, known to any fold. */
  closed: boolean;
  /** By token of the download, or id of the lookup. */
  charges: Map<string, Charge>;
  /** Warnings by the id of their event; with the Message-ID once they are mailed. */
  warnings: Map<string, { data: UsageEventOf<'UsageWarningReached'>['data']; messageId: string | null }>;
  /** Waivers by their reference. */
  waivers: Map<string, UsageEventOf<'ChargeWaived'>['data']>;
  endedAt: string | null;
}

interface Charge {
  eventId: string;
  type: 'DownloadCreditDebited' | 'OverageCharged' | 'MetadataCreditDebited';
  /** What is left of it, in cents. */
  cents: number;
  confirmed: boolean;
  voided: boolean;
}

/** The maps belong to one fold, which fills them in place: a period may have very many charges. */
export const newSettlement = (): Settlement => ({
  usage: initialUsage,
  closed: false,
  charges: new Map(),
  warnings: new Map(),
  waivers: new Map(),
  endedAt: null,
});

export function evolveSettlement(
  state: Settlement,
  event: UsageEvent,
  { id, time }: { id: string; time: string },
): Settlement {
  const { charges, warnings, waivers } = state;
  const change = (key: string, changed: (charge: Charge) => Partial<Charge>) => {
    const charge = charges.get(key);
    if (charge) charges.set(key, { ...charge, ...changed(charge) });
  };
  switch (event.type) {
    case 'DownloadCreditDebited':
    case 'OverageCharged': {
      const cents = event.type === 'OverageCharged' ? event.data.cents : 0;
      charges.set(event.data.token, { eventId: id, type: event.type, cents, confirmed: false, voided: false });
      break;
    }
    case 'MetadataCreditDebited':
      charges.set(event.data.lookup_id, { eventId: id, type: event.type, cents: 0, confirmed: false, voided: false });
      break;
    case 'DownloadConfirmed':
      change(event.data.token, () => ({ confirmed: true }));
      break;
    case 'DownloadVoided':
      change(event.data.token, () => ({ voided: true, cents: 0 }));
      break;
    case 'MetadataCreditVoided':
      change(event.data.lookup_id, () => ({ voided: true }));
      break;
    case 'ChargeWaived':
      change(event.data.token, ({ cents }) => ({ cents: cents - event.data.cents }));
      waivers.set(event.data.reference, event.data);
      break;
    case 'UsageWarningReached':
      warnings.set(id, { data: event.data, messageId: null });
      break;
    case 'UsageWarningMailed': {
      const warning = warnings.get(event.data.warning_event_id);
      if (warning) warnings.set(event.data.warning_event_id, { ...warning, messageId: event.data.message_id });
      break;
    }
    case 'UsagePeriodOpened':
    case 'PlanChanged':
    case 'OverageCapSet':
    case 'OverageCapRemoved':
    case 'OverageCapReached':
    case 'DownloadQueued':
    case 'UsagePeriodEnded':
    case 'UsagePeriodClosed':
      break;
    default:
      event satisfies never;
  }
  const endedAt = event.type === 'UsagePeriodEnded' ? time : state.endedAt;
  const closed = state.closed || event.type === 'UsagePeriodClosed';
  return { ...state, closed, endedAt, usage: evolveUsage(state.usage, event) };
}

export type SettlementCommand =
  | { kind: 'confirm_download'; token: string }
  | { kind: 'void_download'; token: string; promised?: Promised | undefined }
  | { kind: 'void_lookup'; lookupId: string; promised?: Promised | undefined }
  /** Without an amount: all that is left of the charge. Needs the whole period, because its references are the period's. */
  | { kind: 'waive_charge'; token: string; cents?: number | undefined; reference: string }
  | { kind: 'record_mail'; warningEventId: string; messageId: string }
  | { kind: 'close_period'; graceSeconds: number };

/**
 * @param now instant of the decision, UTC ISO-8601
 * @returns the events to append: none when the command has been carried out already
 */
export function decideSettlement(state: Settlement, command: SettlementCommand, now: string): UsageEvent[] | Refused {
  switch (command.kind) {
    case 'confirm_download':
      return confirmDownload(state, command.token);
    case 'void_download':
      return voidDownload(state, command);
    case 'void_lookup':
      return voidLookup(state, command);
    case 'waive_charge':
      return waiveCharge(state, command);
    case 'record_mail':
      return recordMail(state, command);
    case 'close_period':
      return close(state, command.graceSeconds, now);
  }
}

/** In a closed period nothing can be voided any more, so that there is nothing to protect it from. */
function confirmDownload({ charges, closed }: Settlement, token: string): UsageEvent[] | Refused {
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  if (charge.voided) return refuse('download_voided');
  if (charge.confirmed || closed) return [];
  return [{ type: 'DownloadConfirmed', data: { token } }];
}

/** Gives back exactly what the charge took, less what was waived: nothing is rated again, and its ordinal stays used. */
function voidDownload(
  { charges, closed }: Settlement,
  { token, promised }: Extract<SettlementCommand, { kind: 'void_download' }>,
): UsageEvent[] | Refused {
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  if (charge.voided) return [];
  if (charge.confirmed) return refuse('download_confirmed');
  if (closed) return refuse('period_closed');
  return [
    {
      type: 'DownloadVoided',
      data: {
        token,
        charge_event_id: charge.eventId,
        credits: charge.type === 'DownloadCreditDebited' ? 1 : 0,
        overage_downloads: charge.cents > 0 ? 1 : 0,
        cents: charge.cents,
        ...(promised && { promised }),
      },
    },
  ];
}

function voidLookup(
  { charges, closed }: Settlement,
  { lookupId, promised }: Extract<SettlementCommand, { kind: 'void_lookup' }>,
): UsageEvent[] | Refused {
  const charge = charges.get(lookupId);
  if (!charge) return refuse('charge_not_found');
  if (charge.voided) return [];
  if (closed) return refuse('period_closed');
  const data = { lookup_id: lookupId, charge_event_id: charge.eventId, ...(promised && { promised }) };
  return [{ type: 'MetadataCreditVoided', data }];
}

function waiveCharge(
  { charges, waivers, closed }: Settlement,
  { token, cents, reference }: Extract<SettlementCommand, { kind: 'waive_charge' }>,
): UsageEvent[] | Refused {
  const waived = waivers.get(reference);
  if (waived) {
    const isSame = waived.token === token && (cents === undefined || cents === waived.cents);
    return isSame ? [] : refuse('reference_reused');
  }
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  if (closed) return refuse('period_closed');
  if (charge.cents === 0) return refuse('nothing_to_give_back');
  const amountCents = cents ?? charge.cents;
  if (amountCents > charge.cents) return refuse('exceeds_charge');
  return [
    {
      type: 'ChargeWaived',
      data: {
        reference,
        token,
        charge_event_id: charge.eventId,
        cents: amountCents,
        overage_downloads: amountCents === charge.cents ? 1 : 0,
      },
    },
  ];
}

/** Even in a closed period: it changes no amount, and a mail server may have been away for longer than the grace. */
function recordMail(
  { warnings }: Settlement,
  { warningEventId, messageId }: Extract<SettlementCommand, { kind: 'record_mail' }>,
): UsageEvent[] | Refused {
  const warning = warnings.get(warningEventId);
  if (!warning) return refuse('charge_not_found');
  if (warning.messageId !== null) return [];
  const { pool, threshold_percent } = warning.data;
  return [
    {
      type: 'UsageWarningMailed',
      data: { warning_event_id: warningEventId, pool, threshold_percent, message_id: messageId },
    },
  ];
}

function close({ usage, endedAt }: Settlement, graceSeconds: number, now: string): UsageEvent[] | Refused {
  if (usage.phase === 'closed') return [];
  if (usage.phase !== 'ended' || endedAt === null) return refuse('period_open');
  if (Date.parse(now) < Date.parse(endedAt) + graceSeconds * 1000) return refuse('grace_not_over');
  return [closePeriod(usage)];
}
