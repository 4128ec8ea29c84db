/** The stream names of this service, parsed here alone. Other systems may keep theirs in the same event store. */
export type StreamName =
  | { kind: 'account' | 'invoices' | 'corrections'; accountId: string }
  /** The day on which the billing period starts, YYYYMMDD. */
  | { kind: 'usage'; accountId: string; day: string }
  | { kind: 'job'; token: string }
  | { kind: 'staff'; staffId: string }
  | { kind: 'issuer' | 'acknowledgements' | 'tree-heads' };

/** The stream of the issuer's name and address. */
export const issuerStream = 'issuer';

/** The stream of acknowledged divergences. */
export const acknowledgementsStream = 'audit-acknowledgements';

/** The stream of the signed heads of what was closed and invoiced. */
export const treeHeadsStream = 'tree-heads';

const account = /^(account|invoices|corrections)-(acc_[a-z0-9]{16,32})$/;
const usage = /^usage-(acc_[a-z0-9]{16,32})-(\d{8})$/;
const staff = /^staff-(stf_[a-z0-9]{16,32})$/;
const job = /^job-([A-Za-z0-9_-]{20,64})$/;

/** @returns undefined for a name that is not exactly one of ours */
export function parseStreamName(stream: string): StreamName | undefined {
  const [, accountId, day] = usage.exec(stream) ?? [];
  if (accountId !== undefined && day !== undefined) return { kind: 'usage', accountId, day };
  const [, token] = job.exec(stream) ?? [];
  if (token !== undefined) return { kind: 'job', token };
  const [, kind, id] = account.exec(stream) ?? [];
  if (id !== undefined) return { kind: kind as 'account' | 'invoices' | 'corrections', accountId: id };
  const [, staffId] = staff.exec(stream) ?? [];
  if (staffId !== undefined) return { kind: 'staff', staffId };
  if (stream === issuerStream) return { kind: 'issuer' };
  if (stream === treeHeadsStream) return { kind: 'tree-heads' };
  return stream === acknowledgementsStream ? { kind: 'acknowledgements' } : undefined;
}

export const staffStream = (staffId: string): string => `staff-${staffId}`;

/** @returns null for a stream that belongs to no account, or not to this service */
export function accountOf(stream: string): string | null {
  const name = parseStreamName(stream);
  return name && 'accountId' in name ? name.accountId : null;
}

/** The stream of a billing period. @param periodStart the instant at which it starts */
export function usageStream(accountId: string, periodStart: string): string {
  return `usage-${accountId}-${periodStart.slice(0, 10).replaceAll('-', '')}`;
}
