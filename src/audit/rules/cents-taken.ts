import type { Link } from './event-schemas.ts';

/** Each of them takes something from the account, or gives it back. */
const ledgerEvents = [
  'DownloadCreditDebited',
  'OverageCharged',
  'MetadataCreditDebited',
  'DownloadVoided',
  'MetadataCreditVoided',
  'ChargeWaived',
  'DownloadCreditReturned',
];

/** The cents that an event takes: 0 for a credit, negative where it gives back; undefined for an event outside the ledger. */
export function centsTaken({ type, data }: Link): number | undefined {
  if (!ledgerEvents.includes(type)) return undefined;
  const { cents = 0, charge_event_id } = data as Partial<Link['data']>;
  return charge_event_id === undefined ? cents : 0 - cents;
}
