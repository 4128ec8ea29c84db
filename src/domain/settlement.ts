import { isRefused, refuse } from './refusals.ts';
import type { Refused } from './refusals.ts';
import type { Promised, UsageEvent, UsageEventOf } from './usage-events.ts';
import { closePeriod } from './usage-periods.ts';
import { evolveUsage } from './usage.ts';
import { initialUsage } from './usage-state.ts';
import type { Usage } from './usage-state.ts';

/**
 * One billing period with each of its charges: for what comes after a charge. A charge is confirmed or voided, never both; it
 * may be waived in parts; what is given back in all is never more than it took.
 *
 * The fold may begin in the middle of the period, because a period may be very long: whatever concerns a charge or a warning
 * stands behind it. Then `usage` comes from elsewhere or is missing, and earlier charges, notices and waivers are not in it.
 */
export interface Settlement {
  usage: Usage;
  /** Whether the books are closed; unlike `usage`, known to any fold. */
  closed: boolean;
  /** By token of the download, or id of the lookup. */
  charges: Map<string, Charge>;
  /** Notices to the owner by the id of their event; with the Message-ID once mailed. */
  notices: Map<string, { notice: Notice; messageId: string | null }>;
  /** Waivers, as `waiverName` names them. */
  waivers: Map<string, UsageEventOf<'ChargeWaived'>['data']>;
  endedAt: string | null;
}

export type Notice = UsageEventOf<'UsageWarningReached' | 'OverageCapReached'>;

/** A reference may stand for the waivers of several charges, but for one of each. */
export const waiverName = ({ reference, token }: { reference: string; token: string }): string =>
  `${reference} ${token}`;

interface Charge {
  eventId: string;
  type: 'DownloadCreditDebited' | 'OverageCharged' | 'MetadataCreditDebited';
  /** Its remainder: a credit, or cents. */
  credits: number;
  cents: number;
  confirmed: boolean;
  voided: boolean;
}

/** The maps belong to one fold, which fills them in place: a period may have very many charges. */
export const newSettlement = (): Settlement => ({
  usage: initialUsage,
  closed: false,
  charges: new Map(),
  notices: new Map(),
  waivers: new Map(),
  endedAt: null,
});

export function evolveSettlement(
  state: Settlement,
  event: UsageEvent,
  { id, time }: { id: string; time: string },
): Settlement {
  const { charges, notices, waivers } = state;
  const change = (key: string, changed: (charge: Charge) => Partial<Charge>) => {
    const charge = charges.get(key);
    if (charge) charges.set(key, { ...charge, ...changed(charge) });
  };
  switch (event.type) {
    case 'DownloadCreditDebited':
    case 'OverageCharged': {
      const taken =
        event.type === 'OverageCharged' ? { credits: 0, cents: event.data.cents } : { credits: 1, cents: 0 };
      charges.set(event.data.token, newCharge(id, event.type, taken));
      break;
    }
    case 'MetadataCreditDebited':
      charges.set(event.data.lookup_id, newCharge(id, event.type, { credits: 1, cents: 0 }));
      break;
    case 'DownloadConfirmed':
      change(event.data.token, () => ({ confirmed: true }));
      break;
    case 'DownloadVoided':
      change(event.data.token, () => ({ voided: true, credits: 0, cents: 0 }));
      break;
    case 'MetadataCreditVoided':
      change(event.data.lookup_id, () => ({ voided: true, credits: 0 }));
      break;
    case 'ChargeWaived':
      change(event.data.token, ({ cents }) => ({ cents: cents - event.data.cents }));
      waivers.set(waiverName(event.data), event.data);
      break;
    case 'DownloadCreditReturned':
      change(event.data.token, () => ({ credits: 0 }));
      break;
    case 'UsageWarningReached':
    case 'OverageCapReached':
      notices.set(id, { notice: event, messageId: null });
      break;
    case 'UsageWarningMailed':
      noteMailed(notices, event.data.warning_event_id, event.data.message_id);
      break;
    case 'OverageCapMailed':
      noteMailed(notices, event.data.cap_event_id, event.data.message_id);
      break;
    case 'UsagePeriodOpened':
    case 'PlanChanged':
    case 'OverageCapSet':
    case 'OverageCapRemoved':
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

const newCharge = (eventId: string, type: Charge['type'], taken: Pick<Charge, 'credits' | 'cents'>): Charge => ({
  ...{ eventId, type, ...taken },
  ...{ confirmed: false, voided: false },
});

function noteMailed(notices: Settlement['notices'], eventId: string, messageId: string): void {
  const mailed = notices.get(eventId);
  if (mailed) notices.set(eventId, { ...mailed, messageId });
}

export type SettlementCommand =
  | { kind: 'confirm_download'; token: string }
  | { kind: 'void_download'; token: string; promised?: Promised | undefined }
  | { kind: 'void_lookup'; lookupId: string; promised?: Promised | undefined }
  /** Without an amount: all that is left of the charge. */
  | { kind: 'waive_charge'; token: string; cents?: number | undefined; reference: string }
  /** All that is left of each of these charges; those of which nothing is left, or that are not there, are passed over. */
  | { kind: 'waive_charges'; tokens: readonly string[]; reference: string }
  /** The download has failed by the service's fault: needs `usage`, whose terms say if that is given back. */
  | { kind: 'return_service_failure'; token: string; reference: string }
  /** One mail may be about several notices. */
  | { kind: 'record_mail'; eventIds: readonly string[]; messageId: string }
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
    case 'waive_charges':
      return waiveCharges(state, command);
    case 'return_service_failure':
      return returnServiceFailure(state, command);
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
        credits: charge.credits,
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
  const waived = waivers.get(waiverName({ reference, token }));
  if (waived) return cents === undefined || cents === waived.cents ? [] : refuse('reference_reused');
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  if (closed) return refuse('period_closed');
  if (charge.cents === 0) return refuse('nothing_to_give_back');
  const amountCents = cents ?? charge.cents;
  if (amountCents > charge.cents) return refuse('exceeds_charge');
  return [chargeWaived(charge, { reference, token, cents: amountCents })];
}

function waiveCharges(
  state: Settlement,
  { tokens, reference }: Extract<SettlementCommand, { kind: 'waive_charges' }>,
): UsageEvent[] | Refused {
  const decided = tokens.map((token) => waiveCharge(state, { kind: 'waive_charge', token, reference }));
  if (decided.some((one) => isRefused(one) && one.refusal === 'period_closed')) return refuse('period_closed');
  return decided.flatMap((one) => (isRefused(one) ? [] : one));
}

const chargeWaived = (
  charge: Charge,
  { reference, token, cents }: { reference: string; token: string; cents: number },
): UsageEvent => ({
  type: 'ChargeWaived',
  data: {
    ...{ reference, token, charge_event_id: charge.eventId, cents },
    overage_downloads: cents === charge.cents ? 1 : 0,
  },
});

/** Gives back all that is left of the charge, once. */
function returnServiceFailure(
  { usage, charges, closed }: Settlement,
  { token, reference }: Extract<SettlementCommand, { kind: 'return_service_failure' }>,
): UsageEvent[] | Refused {
  if (usage.phase === 'absent') throw new Error('the terms of the period are not known');
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  const isGivenBack = charge.voided || (charge.credits === 0 && charge.cents === 0);
  if (isGivenBack || !usage.terms.service_failures_returned) return [];
  if (closed) return refuse('period_closed');
  if (charge.cents > 0) return [chargeWaived(charge, { reference, token, cents: charge.cents })];
  return [{ type: 'DownloadCreditReturned', data: { token, charge_event_id: charge.eventId } }];
}

/** Even in a closed period: it changes no amount, and a mail server may have been away for longer than the grace. */
function recordMail(
  { notices }: Settlement,
  { eventIds, messageId }: Extract<SettlementCommand, { kind: 'record_mail' }>,
): UsageEvent[] | Refused {
  const found = eventIds.map((eventId) => ({ eventId, ...notices.get(eventId) }));
  if (found.some(({ notice }) => notice === undefined)) return refuse('charge_not_found');
  return found.flatMap(({ eventId, notice, messageId: known }) =>
    notice && known === null ? [noticeMailed(notice, eventId, messageId)] : [],
  );
}

function noticeMailed({ type, data }: Notice, eventId: string, messageId: string): UsageEvent {
  if (type === 'OverageCapReached')
    return { type: 'OverageCapMailed', data: { cap_event_id: eventId, message_id: messageId } };
  const { pool, threshold_percent } = data;
  return {
    type: 'UsageWarningMailed',
    data: { warning_event_id: eventId, pool, threshold_percent, message_id: messageId },
  };
}

function close({ usage, endedAt }: Settlement, graceSeconds: number, now: string): UsageEvent[] | Refused {
  if (usage.phase === 'closed') return [];
  if (usage.phase !== 'ended' || endedAt === null) return refuse('period_open');
  if (Date.parse(now) < Date.parse(endedAt) + graceSeconds * 1000) return refuse('grace_not_over');
  return [closePeriod(usage)];
}
