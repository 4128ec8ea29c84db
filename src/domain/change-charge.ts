import { failedJobKeepsCharge } from './failed-job-keeps-charge.ts';
import { refuse, type Refused } from './refusals.ts';
import type { Promised, UsageEvent, UsageEventOf } from './usage-events.ts';

/**
 * The charges of one billing period, and what happens to a charge after it was made:
 *
 *     charged ──DownloadConfirmed──────────────────────▶ confirmed: it stays charged
 *     charged ──DownloadVoided, MetadataCreditVoided───▶ voided: all that is left of it is given back
 *
 * A confirmed charge is never voided, nor a voided one confirmed. ChargeWaived gives back a part of a charge or the rest of it,
 * DownloadCreditReturned its credit. A charge never gives back more than it took, and a closed period gives back nothing.
 *
 * The fold may begin in the middle of a long period, at the charge that a command is about: every change of a charge comes
 * after the charge.
 */
export interface Charges {
  /** By the token of the download or the id of the lookup. */
  charges: Map<string, Charge>;
  /** By reference and token (`waiverName`). */
  waivers: Map<string, UsageEventOf<'ChargeWaived'>['data']>;
  /** A term of the plan (`failed-job-keeps-charge.ts`); null if the fold began after the plan was set. */
  returnsServiceFailures: boolean | null;
  closed: boolean;
}

export interface Charge {
  eventId: string;
  /** The key whose limit counts it. */
  ofKey: { limited_key_id?: string };
  /** In the stream of its period. */
  revision: number;
  /** Of a download beyond the allowance. */
  rate: { rate_cents: number; rate_version: string } | null;
  type: 'DownloadCreditDebited' | 'OverageCharged' | 'MetadataCreditDebited';
  /** The rest of it: a credit, or cents. */
  credits: number;
  cents: number;
  confirmed: boolean;
  voided: boolean;
}

/** One reference may waive several charges, each of them once. */
export const waiverName = ({ reference, token }: { reference: string; token: string }): string =>
  `${reference} ${token}`;

/** `evolveCharges` fills the maps in place, because a period may have very many charges: each fold needs its own. */
export const newCharges = (): Charges => ({
  charges: new Map(),
  waivers: new Map(),
  returnsServiceFailures: null,
  closed: false,
});

export function evolveCharges(
  state: Charges,
  event: UsageEvent,
  { id, revision }: { id: string; revision: number },
): Charges {
  const { charges, waivers } = state;
  const at = { eventId: id, revision };
  const change = (key: string, changed: (charge: Charge) => Partial<Charge>) => {
    const charge = charges.get(key);
    if (charge) charges.set(key, { ...charge, ...changed(charge) });
  };
  switch (event.type) {
    case 'DownloadCreditDebited':
      charges.set(event.data.token, { ...at, ...unchanged, type: event.type, ...credit, ofKey: limitedBy(event.data) });
      return state;
    case 'OverageCharged': {
      const { token, cents, rate_cents, rate_version } = event.data;
      charges.set(token, {
        ...at,
        ...unchanged,
        type: event.type,
        rate: { rate_cents, rate_version },
        credits: 0,
        cents,
        ofKey: limitedBy(event.data),
      });
      return state;
    }
    case 'MetadataCreditDebited':
      charges.set(event.data.lookup_id, { ...at, ...unchanged, type: event.type, ...credit, ofKey: {} });
      return state;
    case 'DownloadConfirmed':
      change(event.data.token, () => ({ confirmed: true }));
      return state;
    case 'DownloadVoided':
      change(event.data.token, () => ({ voided: true, credits: 0, cents: 0 }));
      return state;
    case 'MetadataCreditVoided':
      change(event.data.lookup_id, () => ({ voided: true, credits: 0 }));
      return state;
    case 'ChargeWaived':
      change(event.data.token, ({ cents }) => ({ cents: cents - event.data.cents }));
      waivers.set(waiverName(event.data), event.data);
      return state;
    case 'DownloadCreditReturned':
      change(event.data.token, () => ({ credits: 0 }));
      return state;
    // Stryker disable next-line ConditionalExpression: without it, the next case does the same
    case 'UsagePeriodOpened':
      return { ...state, returnsServiceFailures: event.data.terms.service_failures_returned };
    case 'PlanChanged':
      if (event.data.effective === 'next_period') return state;
      return { ...state, returnsServiceFailures: event.data.terms.service_failures_returned };
    case 'UsagePeriodClosed':
      return { ...state, closed: true };
    case 'OverageCapSet':
    case 'OverageCapRemoved':
    case 'KeyLimitSet':
    case 'KeyLimitRemoved':
    case 'AccountSuspended':
    case 'SuspensionLifted':
    case 'DownloadQueued':
    case 'UsageWarningReached':
    case 'UsageWarningMailed':
    case 'OverageCapReached':
    case 'OverageCapMailed':
    case 'UsagePeriodEnded':
      return state;
    // Stryker disable next-line ConditionalExpression: the compiler proves that no event comes here
    default:
      return event satisfies never;
  }
}

const unchanged = { confirmed: false, voided: false };
const credit = { rate: null, credits: 1, cents: 0 };

const limitedBy = ({ limited_key_id }: { limited_key_id?: string | undefined }): Charge['ofKey'] =>
  limited_key_id === undefined ? {} : { limited_key_id };

export type ChargeCommand =
  | { kind: 'confirm_download'; token: string }
  | { kind: 'void_download'; token: string; promised?: Promised | undefined }
  | { kind: 'void_lookup'; lookupId: string; promised?: Promised | undefined }
  /** So many cents of each charge, or what is left of it. A charge that does not exist or has nothing left is skipped. */
  | { kind: 'waive_charges'; charges: readonly { token: string; cents: number }[]; reference: string }
  /** The service has failed the download; the terms of the period say whether its charge is given back. */
  | { kind: 'return_service_failure'; token: string; reference: string };

/** @returns the events to append: none when the command has been carried out already */
export function decideCharge(state: Charges, command: ChargeCommand): UsageEvent[] | Refused {
  switch (command.kind) {
    case 'confirm_download':
      return confirmDownload(state, command.token);
    case 'void_download':
      return voidDownload(state, command);
    case 'void_lookup':
      return voidLookup(state, command);
    case 'waive_charges':
      return waiveCharges(state, command);
    case 'return_service_failure':
      return returnServiceFailure(state, command);
  }
}

/** A closed period voids nothing, so a charge of it needs no confirmation. */
function confirmDownload({ charges, closed }: Charges, token: string): UsageEvent[] | Refused {
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  if (charge.voided) return refuse('download_voided');
  if (charge.confirmed || closed) return [];
  return [{ type: 'DownloadConfirmed', data: { token } }];
}

/** Gives back exactly what the charge took, less what was waived. Nothing is rated again, and its ordinal stays used. */
function voidDownload(
  { charges, closed }: Charges,
  { token, promised }: Extract<ChargeCommand, { kind: 'void_download' }>,
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
        ...charge.ofKey,
        ...(promised && { promised }),
      },
    },
  ];
}

function voidLookup(
  { charges, closed }: Charges,
  { lookupId, promised }: Extract<ChargeCommand, { kind: 'void_lookup' }>,
): UsageEvent[] | Refused {
  const charge = charges.get(lookupId);
  if (!charge) return refuse('charge_not_found');
  if (charge.voided) return [];
  if (closed) return refuse('period_closed');
  const data = { lookup_id: lookupId, charge_event_id: charge.eventId, ...(promised && { promised }) };
  return [{ type: 'MetadataCreditVoided', data }];
}

function waiveCharges(
  { charges, waivers, closed }: Charges,
  { charges: wanted, reference }: Extract<ChargeCommand, { kind: 'waive_charges' }>,
): UsageEvent[] | Refused {
  const waived = wanted.flatMap(({ token, cents }) => {
    const charge = charges.get(token);
    // This very command may have waived a part of it before.
    if (!charge?.cents || waivers.has(waiverName({ reference, token }))) return [];
    return [chargeWaived(charge, { reference, token, cents: Math.min(cents, charge.cents) })];
  });
  return closed && waived.length > 0 ? refuse('period_closed') : waived;
}

const chargeWaived = (
  charge: Charge,
  { reference, token, cents }: { reference: string; token: string; cents: number },
): UsageEvent => ({
  type: 'ChargeWaived',
  data: {
    reference,
    token,
    charge_event_id: charge.eventId,
    cents,
    overage_downloads: cents === charge.cents ? 1 : 0,
    ...charge.ofKey,
  },
});

/** Gives back all that is left of the charge, once. */
function returnServiceFailure(
  { charges, returnsServiceFailures, closed }: Charges,
  { token, reference }: Extract<ChargeCommand, { kind: 'return_service_failure' }>,
): UsageEvent[] | Refused {
  if (returnsServiceFailures === null) throw new Error('the terms of the period are not known');
  const charge = charges.get(token);
  if (!charge) return refuse('charge_not_found');
  const isGivenBack = charge.voided || (charge.credits === 0 && charge.cents === 0);
  if (isGivenBack || failedJobKeepsCharge('service', returnsServiceFailures)) return [];
  if (closed) return refuse('period_closed');
  if (charge.cents > 0) return [chargeWaived(charge, { reference, token, cents: charge.cents })];
  return [{ type: 'DownloadCreditReturned', data: { token, charge_event_id: charge.eventId, ...charge.ofKey } }];
}
