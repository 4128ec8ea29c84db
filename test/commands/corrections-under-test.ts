import { carryOutCorrection } from '../../src/commands/carry-out-correction.ts';
import {
  approveCorrection,
  askCorrection,
  type CorrectDependencies,
  refuseCorrection,
} from '../../src/commands/correct.ts';
import type { WantedCorrection } from '../../src/domain/correction-events.ts';
import type { InvoiceEvent } from '../../src/domain/invoice-events.ts';
import { parseCorrectionEvent, type ParsedEvent, parseInvoiceEvent } from '../../src/domain/parse-event.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { token } from '../domain/usage-examples.ts';
import { hire, staffDependencies, timeoutMs } from './staff-under-test.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';
import { openUsage, queueAll, upFrom, type UsageAccount, writersOf } from './usage-account.ts';

export const limitCents = 100;

/** Each download of it costs 25 cents. */
export async function chargedAccount(store: EventStore, downloads: number): Promise<UsageAccount> {
  const account = await openUsage(store, { downloads_limit: 0, overage_cents: 25, fee_cents: 0 });
  await queueAll(writersOf(store), account, upFrom(1, downloads));
  return account;
}

/** A download that is queued n-th is charged at revision 2n − 1. */
export const chargeOf = (number: number) => ({ token: token(number), revision: 2 * number - 1 });

type WantedCharges = Extract<WantedCorrection, { kind: 'charges' }>;

/** All that is left of these charges. */
export const waiveAll = ({ stream }: UsageAccount, numbers: readonly number[]): WantedCharges => ({
  kind: 'charges',
  stream,
  charges: numbers.map(chargeOf),
});
export const waive = (account: UsageAccount, number: number): WantedCharges => waiveAll(account, [number]);

export interface Team {
  sue: string;
  fay: string;
  flo: string;
  ada: string;
}

export const hireTeam = async (store: EventStore): Promise<Team> => ({
  sue: await hire(store, 'support'),
  fay: await hire(store, 'finance'),
  flo: await hire(store, 'finance'),
  ada: await hire(store, 'admin'),
});

export interface Asking {
  correction: WantedCorrection;
  /** Of a line, or of each charge. */
  cents?: number;
  reference?: string;
  correctionId?: string;
  reason?: string;
}

const withCents = (correction: WantedCorrection, cents: number | undefined): WantedCorrection =>
  correction.kind === 'credit_line'
    ? { ...correction, cents }
    : { ...correction, charges: correction.charges.map((charge) => ({ ...charge, cents })) };

/** The corrections of one account, as one process serves them. */
export const desk = (store: EventStore, { accountId }: UsageAccount, dependencies?: CorrectDependencies) => {
  const process = dependencies ?? staffDependencies(store);
  const order = (staffId: string, correctionId: string, reason = 'the file was broken') => ({
    accountId,
    correctionId,
    by: { staffId, reason },
    timeoutMs,
  });
  return {
    ask: (staffId: string, { reference = 'CASE-1', correctionId = newUuid(), reason, correction, cents }: Asking) =>
      askCorrection(process, {
        ...order(staffId, correctionId, reason),
        reference,
        limitCents,
        correction: withCents(correction, cents),
      }),
    approve: (staffId: string, correctionId: string) => approveCorrection(process, order(staffId, correctionId)),
    refuse: (staffId: string, correctionId: string) => refuseCorrection(process, order(staffId, correctionId)),
    carryOut: (correctionId: string) => carryOutCorrection(process, { accountId, correctionId, timeoutMs }),
  };
};

export async function correctionsOf(store: EventStore, { accountId }: UsageAccount) {
  const recorded = await store.read(`corrections-${accountId}`, 0);
  expectUnbrokenChain(recorded);
  return recorded.map(parseCorrectionEvent);
}

export async function documentsOf(
  store: EventStore,
  { accountId }: UsageAccount,
): Promise<ParsedEvent<InvoiceEvent>[]> {
  const recorded = await store.read(`invoices-${accountId}`, 0);
  expectUnbrokenChain(recorded);
  return recorded.map(parseInvoiceEvent);
}
